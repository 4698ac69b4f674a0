"""A job that launches every second, with real processes: no overlap, nothing twice, no gap."""

import sqlite3
from datetime import datetime
from itertools import pairwise

import pytest

from cluster.bench.stack import Stack
from scheduler.state.periodic_noun import PERIODIC_LAUNCHES
from scheduler.structs.periodic_launch import LaunchOutcome
from tests.live.world import SECOND, World, job, kill_tasks_below, until

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

#: Longer than the time between two launches.
SLEEP = {"Config": {"command": "/bin/sleep", "args": ["2"]}}
EVERY_SECOND = {"Specs": ["* * * * * * *"], "ProhibitOverlap": True}


@pytest.fixture
def world():
    with Stack(agent=True, environment={"BIVOUAC_NODE_NAME": "first"}) as stack:
        world = World(stack)
        try:
            world.node("first")
            yield world
        finally:
            world.api.close()
            kill_tasks_below(str(stack.data_dir))


def children(world, *statuses):
    listed = [item for item in world.get("jobs") if item["ParentID"] == "tick"]
    return {item["ID"] for item in listed if not statuses or item["Status"] in statuses}


def history(world):
    """What the record keeps of the launches."""
    with sqlite3.connect(world.stack.data_dir / "state.sqlite3") as connection:
        ((body,),) = connection.execute("SELECT body FROM periodic_launch").fetchall()
    return PERIODIC_LAUNCHES.decode(body).history


def instant(text):
    return datetime.fromisoformat(text)


def runs(world, child):
    """From when to when its task ran."""
    (alloc,) = world.allocations(child, "complete")
    state = alloc["TaskStates"]["task"]
    return instant(state["StartedAt"]), instant(state["FinishedAt"])


def test_launches_of_every_second_neither_overlap_nor_repeat_while_leaders_change(world):
    form = job("tick", task=SLEEP) | {"Type": "batch", "Update": None, "Periodic": EVERY_SECOND}
    assert world.register(form) == ""
    until(lambda: len(children(world, "dead")) >= 2, "two children have ended")

    killed = world.stack.kill("leader")
    until(lambda: world.stack.pids["leader"] != killed, "another leader")
    ended = len(children(world, "dead"))
    until(lambda: len(children(world, "dead")) >= ended + 2, "two more have ended")
    answer = world.api.put("/v1/job/tick/periodic/force")
    forced = world.get(f"evaluation/{answer.json()['EvalID']}")["JobID"]
    assert world.api.delete("/v1/job/tick").is_success
    until(lambda: not children(world, "pending", "running"), "what was launched ends")

    kept = history(world)
    planned = [each for each in kept if each.outcome is not LaunchOutcome.FORCED]
    assert {(later.due - due.due) // SECOND for due, later in pairwise(planned)} == {1}
    outcomes = {each.outcome for each in planned}
    assert outcomes >= {LaunchOutcome.RAN, LaunchOutcome.SKIPPED}
    ran = [each.child_id for each in planned if each.outcome is LaunchOutcome.RAN]
    assert len(ran) == len(set(ran))
    assert {*ran, forced} <= children(world)
    # The one by hand runs beside the others, if its second was no other's.
    spans = sorted(runs(world, child) for child in children(world) - {forced})
    assert all(start >= end for (_, end), (start, _) in pairwise(spans))
    summary = world.get("job/tick/summary")["Children"]
    assert summary == {"Pending": 0, "Running": 0, "Dead": len(children(world))}
    triggers = {item["TriggeredBy"] for item in world.get("evaluations")}
    assert triggers >= {"periodic-job"}
