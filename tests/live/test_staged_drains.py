"""An operator drains a list of nodes in stages: rehearsed, begun, through a dead leader."""

import re
import signal

import pytest
from playwright.sync_api import expect

from tests.live.fleet_process import FleetProcess
from tests.live.world import MOCK, job, until

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

#: So many drain of those that are there: what leaves them needs a place.
NODES, DRAINED = 8, 4
#: Nodes of its own: others have left theirs in the record.
SEED = 23
NAMES = f"sim-{SEED}-"


@pytest.fixture(scope="module")
def fleet(world):
    """Simulated nodes with a service on them, beside the nodes that were there."""
    process = FleetProcess(world.stack, nodes=NODES, cpu=4000, memory=4096, seed=SEED)
    process.start()
    try:
        until(lambda: len(sims(world)) >= NODES, "simulated nodes")
        world.register(job("spread-out", count=NODES, task=MOCK))
        world.running("spread-out", NODES)
        yield sims(world)
    finally:
        # What is left of it would move to the nodes of others.
        world.purge("spread-out")
        process.end(signal.SIGTERM)
        process.log.close()


def sims(world):
    nodes = world.get("nodes")
    return [each for each in nodes if each["Name"].startswith(NAMES) and each["Status"] == "ready"]


def begun(world, node):
    events = world.get(f"node/{node['ID']}")["Events"]
    return sum(event["Message"] == "Node drain strategy set" for event in events)


def test_a_staged_drain_is_rehearsed_and_survives_its_leader(world, visitor, fleet, page):
    visitor.sign_in(world)
    visitor.open(f"/admin/cluster/noderow/?q={NAMES}")
    for place in range(DRAINED):
        page.locator("input.action-select").nth(place).check()
    page.locator("select[name=action]").select_option("drain_selected")
    page.locator("button[name=index]").click()
    page.get_by_label("Reason").fill("new disks")
    page.get_by_label("Nodes at once").fill("1")
    page.get_by_role("button", name="Rehearse").click()
    expect(page.get_by_text("Rehearse again")).to_be_visible()
    expect(page.locator(".rehearsal")).to_contain_text("1 at a time")
    assert not any(begun(world, node) for node in fleet)

    page.get_by_role("button", name=f"Drain {DRAINED} nodes").click()
    expect(page.locator("h1")).to_contain_text(f"Drain of {DRAINED} nodes, 1 at a time")
    visitor.stay()
    world.stack.kill("leader")
    expect(page.locator("#staged-head .badge")).to_contain_text("complete")
    expect(page.locator("#staged-nodes [data-state=complete]")).to_have_count(DRAINED)
    visitor.expect_stayed()
    assert sorted(begun(world, node) for node in fleet) == [0] * DRAINED + [1] * DRAINED
    page.get_by_role("link", name="one story").click()
    expect(page.locator("h1")).to_contain_text(re.compile("Drain"))


def test_stopping_a_job_is_rehearsed_from_its_dialog(world, visitor, fleet, page):
    visitor.open("/jobs/default/spread-out/")
    page.locator(".page-head").get_by_role("button", name="Stop", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Stop job")).to_be_disabled()
    dialog.get_by_role("button", name="Rehearse").click()
    expect(page.get_by_text("Rehearse again")).to_be_visible()
    expect(page.locator(".rehearsal-sum")).to_contain_text("allocations stop")
    assert not world.get("job/spread-out")["Stop"]
    page.get_by_role("button", name="Stop job").click()
    expect(page).to_have_url(re.compile("/evaluations/"))
    until(lambda: world.get("job/spread-out")["Stop"], "the job is stopped")
