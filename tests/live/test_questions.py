"""What people ask of the scheduler without changing anything: why not there, and what if."""

import re

import pytest
from playwright.sync_api import expect

from tests.live.world import NODE_CPU, job, until

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

ASKED_CPU = 90_000
REHEARSAL = re.compile(r"/what-if/([0-9a-f-]{36})/")


@pytest.fixture(scope="module", autouse=True)
def _signed_in(world, visitor):
    visitor.sign_in(world)


@pytest.fixture
def asked(world):
    """A job of two that run."""
    world.register(job("asked", count=2))
    world.running("asked", 2)
    yield "asked"
    world.purge("asked")


def test_why_a_job_is_not_on_a_node_is_told_as_it_was_and_as_it_is(world, visitor, page):
    world.register(job("too-much", task={"Resources": {"CPU": ASKED_CPU, "MemoryMB": 32}}))
    waiting = world.evaluation("too-much", "queued-allocs", "blocked")
    visitor.open(f"/evaluations/{waiting['ID']}/")
    page.get_by_role("link", name="Explain", exact=False).first.click()
    expect(page).to_have_url(re.compile(r"/explain/"))
    held = sum(
        world.get(f"node/{node['ID']}")["NodeResources"]["Cpu"]["CpuShares"] == NODE_CPU
        for node in world.get("nodes")
        if node["Status"] == "ready" and node["SchedulingEligibility"] == "eligible"
    )
    assert held >= 1
    expect(page.locator("#explain-head")).to_contain_text("90\u202f000 MHz")
    page.get_by_label("Node", exact=True).fill("first")
    page.get_by_role("button", name="Ask", exact=True).click()
    told = page.locator("#why-not")
    expect(told.locator(".panel-body")).to_contain_text("first")
    failed = told.locator('.checks [data-state="blocked"]')
    expect(failed).to_have_count(1)
    expect(failed).to_contain_text("CPU")
    page.get_by_role("link", name="Explain against now").click()
    expect(page.locator("#explain-now")).to_contain_text("Now:")
    world.purge("too-much")


def placed(world, job_id):
    """What the scheduler decided of each allocation; agents report in between."""
    decided = ("NodeID", "DesiredStatus", "JobVersion", "CreateIndex")
    return {each["ID"]: [each[name] for name in decided] for each in world.allocations(job_id)}


def test_a_question_is_answered_and_moves_nothing(world, visitor, page, asked):
    before = placed(world, asked)
    visitor.open("/what-if/")
    growth = page.get_by_role("group", name="Change 1")
    growth.get_by_label("Change 1").select_option(label="Count of a job")
    growth.get_by_label("Job and group").fill(asked)
    growth.get_by_label("Count", exact=True).fill("3")
    page.get_by_role("button", name="Rehearse", exact=True).click()
    expect(page).to_have_url(REHEARSAL)
    found = REHEARSAL.search(page.url)
    assert found is not None, "the address was just seen"
    result = until(lambda: ended(world, found[1]), "the rehearsal has ended")
    (group,) = (each for each in result["Groups"] if each["JobID"] == asked)
    assert (group["Before"], group["Placed"]) == (2, result["Totals"]["Placed"])
    row = page.locator("table.outcomes").get_by_role("row").filter(has_text=asked)
    expect(row.get_by_role("cell").nth(1)).to_have_text(str(group["Placed"]))
    expect(row.get_by_role("cell").nth(2)).to_contain_text(f"{group['Lowest']} of 3 run")
    expect(page.get_by_role("button", name="Rehearse again")).to_be_visible()
    assert placed(world, asked) == before


def test_what_cannot_be_asked_is_named_and_what_was_typed_is_kept(visitor, page):
    visitor.open("/what-if/")
    page.get_by_role("button", name="Add a change").click()
    losing = page.get_by_role("group", name="Change 2")
    losing.get_by_label("Where").select_option(label="filter expression")
    losing.get_by_label("is", exact=True).fill("Name ==")
    losing.get_by_label("is", exact=True).press("Enter")
    expect(page.get_by_text("Not rehearsed: change 1")).to_be_visible()
    expect(losing.get_by_label("is", exact=True)).to_have_value("Name ==")
    page.get_by_role("button", name="Remove change 1").click()
    left = page.get_by_role("group", name="Change 1")
    expect(left.get_by_label("is", exact=True)).to_have_value("Name ==")


def ended(world, rehearsal_id):
    """The result, once there is one."""
    return world.get(f"rehearsal/{rehearsal_id}")["Result"]
