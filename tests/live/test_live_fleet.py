"""The story goes on with a simulated fleet: more than fits, drains, a line that breaks; pictures.

The real node `first` stays; simulated ones join when room is needed, and are drained in the admin.
"""

import signal
from contextlib import ExitStack

import pytest
from playwright.sync_api import expect

from tests.live.fleet_process import FleetProcess
from tests.live.pages import DrainPage, EvaluationPage, NodeAdminPage
from tests.live.world import MOCK, SECOND, job, until

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

FLEET_NODES = 3
LARGE = {"Resources": {"CPU": 900, "MemoryMB": 64}}
#: Only simulated nodes; and one allocation after the other when a node drains.
ON_THE_FLEET = {
    "Constraints": [{"LTarget": "${node.unique.name}", "Operand": "regexp", "RTarget": "^sim"}],
    "Migrate": {
        "MaxParallel": 1,
        "HealthCheck": "task_states",
        "MinHealthyTime": SECOND,
        "HealthyDeadline": 60 * SECOND,
    },
}


@pytest.fixture(scope="module")
def signed_in(world, visitor):
    visitor.sign_in(world)
    return visitor


@pytest.fixture(scope="module")
def fleet(world):
    fleet = FleetProcess(world.stack, nodes=FLEET_NODES, cpu=4000, memory=4096)
    yield fleet
    # What waits for nodes would be placed on those of others.
    for left in {"parade", "unseen"} & {each["ID"] for each in world.get("jobs")}:
        world.purge(left)
    fleet.end(signal.SIGTERM)
    fleet.log.close()
    # They would fall silent while others lose nodes on purpose, and be told with them.
    for node in world.get("nodes"):
        if node["Name"].startswith("sim"):
            assert world.api.put(f"/v1/node/{node['ID']}/purge").is_success


def fleet_names(world) -> list[str]:
    return sorted(node["Name"] for node in world.get("nodes") if node["Name"].startswith("sim"))


def test_more_than_fits_is_placed_in_part_and_the_rest_waits_for_room(
    world, signed_in, fleet, page
):
    evaluation = EvaluationPage(page)
    eval_id = world.register(job("crowd", count=5, task={**MOCK, **LARGE}))
    evaluation.open(eval_id)
    evaluation.expect_state("complete")
    placed = len(world.running("crowd", 2))
    expect(evaluation.sentence).to_contain_text(f"{placed} of 5 placed")
    expect(evaluation.decision).to_contain_text("CPU")
    blocked = world.evaluation("crowd", "queued-allocs", "blocked")
    evaluation.open(blocked["ID"])
    evaluation.expect_state("blocked")
    signed_in.expect_live()
    signed_in.stay()
    fleet.start()
    evaluation.expect_state("complete")
    for word in ("blocked", "scheduling", "applying", "complete"):
        evaluation.expect_step(word)
    signed_in.expect_stayed()
    world.running("crowd", 5)
    world.purge("crowd")


def test_a_drain_from_the_admin_moves_one_after_the_other_before_the_eyes(
    world, signed_in, fleet, page
):
    drain = DrainPage(page)
    for name in fleet_names(world):
        world.node(name)
    world.register(job("parade", count=6, task=MOCK, **ON_THE_FLEET))
    # What nobody has judged yet would become healthy meanwhile, and change who waits for whom.
    allocs = world.healthy("parade", 6)
    busiest = max(fleet_names(world), key=[alloc["NodeName"] for alloc in allocs].count)
    moving = [alloc["ID"] for alloc in allocs if alloc["NodeName"] == busiest]
    stayed = {alloc["ID"] for alloc in allocs} - {*moving}
    assert len(moving) >= 2
    rehearsed = world.rehearsed({"Drain": {"NodeIDs": [world.node(busiest)["ID"]]}})
    NodeAdminPage(page).drain(busiest, reason="new memory", deadline="15 minutes")
    expect(page.locator("#content")).to_contain_text(busiest)
    expect(drain.status).to_have_attribute("data-state", "draining")
    expect(drain.head).to_contain_text("new memory")
    signed_in.expect_live()
    signed_in.stay()
    # With one at a time, the others are seen waiting for their turn while the first one moves.
    expect(drain.column("Not marked yet").locator(".card")).not_to_have_count(0)
    signed_in.picture("drain-under-way")
    expect(drain.status).to_contain_text("complete", timeout=160_000)
    expect(drain.column("running").locator(".card")).to_have_count(len(moving))
    signed_in.expect_stayed()
    moved = [alloc for alloc in world.running("parade", 6) if alloc["ID"] not in stayed]
    assert busiest not in {alloc["NodeName"] for alloc in moved}
    evaluation = world.evaluation("parade", "node-drain")
    named = [each["ToNodeName"] for each in rehearsed["Allocations"] if each["JobID"] == "parade"]
    assert sorted(named) == sorted(alloc["NodeName"] for alloc in moved)
    drain_is_told_beside_its_rehearsal(signed_in, page, evaluation["Story"], len(moving))
    page.goto(f"/drains/{world.node(busiest)['ID']}/")
    page.get_by_role("button", name="Set eligible").click()
    node = world.node(busiest)
    until(
        lambda: world.get(f"node/{node['ID']}")["SchedulingEligibility"] == "eligible",
        "an eligible node",
    )


def drain_is_told_beside_its_rehearsal(visitor, page, story, moved):
    """Its story says that it went as rehearsed, is drawn by place, and goes back in time."""
    page.goto(f"/stories/{story}/")
    compared = page.locator("#story-compared")
    expect(compared).to_contain_text(" as rehearsed")
    expect(compared.locator("tbody tr", has_text="parade.group")).to_have_count(moved)
    expect(compared.locator("tbody tr", has_text="differs here")).to_have_count(0)
    visitor.pictures("story-drain")
    compared.get_by_role("link", name="The rehearsal").click()
    expect(page.locator("h1")).to_contain_text("Drain 1 node")
    expect(page.locator("#content")).to_contain_text("Rehearsed, not done.")
    visitor.pictures("story-rehearsed")
    page.go_back()
    page.get_by_role("group", name="Lanes").get_by_role("link", name="By place").click()
    expect(page.locator("#phases-title")).to_contain_text("worst off first")
    visitor.expect_live()
    visitor.pictures("story-drain-by-place")
    page.get_by_role("link", name="One step back").click()
    expect(page.locator("#story-heat")).to_contain_text("The cluster as it was")
    expect(page.locator("#story-heat .racks svg")).not_to_have_count(0)
    visitor.pictures("story-drain-past")


def test_a_drain_that_waits_can_be_cancelled(world, signed_in, fleet, page):
    drain = DrainPage(page)
    name = fleet_names(world)[0]
    node = world.node(name)
    patient = job("patient", task=MOCK)
    del patient["Update"]
    here = [{"LTarget": "${node.unique.name}", "Operand": "=", "RTarget": name}]
    # A drain lets batch work finish.
    world.register({**patient, "Type": "batch", "Constraints": here})
    world.running("patient", 1)
    NodeAdminPage(page).drain(name, reason="only looking", deadline="none: wait without limit")
    expect(drain.column("Not marked yet")).to_contain_text("patient.group[0]")
    drain.cancel()
    expect(drain.status).to_contain_text("canceled")
    until(lambda: not world.get(f"node/{node['ID']}")["Drain"], "a drain that ended")
    assert world.get(f"node/{node['ID']}")["SchedulingEligibility"] == "eligible"
    NodeAdminPage(page).choose(name, "Set ineligible…")
    page.get_by_role("button", name="Set 1 node ineligible").click()
    expect(page.locator(".messagelist")).to_contain_text("ineligible now")
    NodeAdminPage(page).choose(name, "Set eligible")
    expect(page.locator(".messagelist")).to_contain_text("eligible now")
    world.running("patient", 1)
    world.purge("patient")


def test_a_page_whose_server_dies_says_so_and_then_tells_all_it_missed(world, signed_in, page):
    evaluation = EvaluationPage(page)
    banner = page.locator("[data-stale-banner]")
    with signed_in.forgiving("WebSocket", "ERR_CONNECTION_REFUSED"):
        with ExitStack() as outage:
            with world.frozen("workers"):
                eval_id = world.register(job("meanwhile"))
                evaluation.open(eval_id)
                evaluation.expect_state("pending")
                signed_in.expect_live()
                signed_in.stay()
                outage.enter_context(world.down("web"))
            # Decided while no server is there to tell it.
            expect(signed_in.live()).to_contain_text("offline")
            expect(banner).to_be_visible()
            signed_in.picture("offline")
        evaluation.expect_state("complete")
        signed_in.expect_live()
        expect(banner).to_be_hidden()
        signed_in.expect_stayed()
    told = evaluation.story()
    evaluation.open(eval_id)
    assert told == evaluation.story()
    world.running("meanwhile", 1)


def test_a_page_without_network_says_so_and_comes_back(world, signed_in, page):
    signed_in.open("/jobs/")
    signed_in.expect_live()
    signed_in.stay()
    with signed_in.forgiving("WebSocket", "ERR_INTERNET_DISCONNECTED"):
        signed_in.context.set_offline(True)
        expect(signed_in.live()).to_contain_text("offline")
        world.register(job("unseen"))
        signed_in.context.set_offline(False)
        signed_in.expect_live()
    expect(page.get_by_role("link", name="unseen")).to_be_visible()
    signed_in.expect_stayed()
    world.running("unseen", 1)


@pytest.mark.timeout(600)
def test_every_page_has_its_picture(world, signed_in, fleet, page):
    alloc = world.running("parade", 6)[0]
    eval_id = alloc["EvalID"]
    node_id = next(node["ID"] for node in world.get("nodes") if node["LastDrain"])
    places = {
        "now": "/",
        "jobs": "/jobs/",
        "submit": "/jobs/new/",
        "job": "/jobs/default/parade/",
        "evaluations": "/evaluations/",
        "evaluation": f"/evaluations/{eval_id}/",
        "chain": f"/chains/{eval_id}/",
        "allocations": "/allocations/",
        "allocation": f"/allocations/{alloc['ID']}/",
        "nodes": "/nodes/",
        "node": f"/nodes/{node_id}/",
        "drains": "/drains/",
        "drain": f"/drains/{node_id}/",
        "states": "/help/states/",
        "admin-nodes": "/admin/cluster/noderow/",
        "admin-drain": f"/admin/cluster/noderow/drain/?ids={node_id}",
    }
    for name, path in places.items():
        assert signed_in.open(path).status == 200, path
        signed_in.pictures(name)
