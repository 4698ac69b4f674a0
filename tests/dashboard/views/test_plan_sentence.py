"""What a plan is said to do: all that `DesiredUpdates` counts, "nothing" only for nothing."""

import re

import pytest
from msgspec.structs import replace

from cluster.jobspec.diff_structs import JobDiff
from cluster.jobspec.parse import parse_job, parse_text
from cluster.operations.job_plan import PlannedJob
from cluster.operations.jobs import JobRegistration, register_job
from dashboard.queries.submission import _group_change, review
from dashboard.queries.submission_words import sentence as sentence_of
from dashboard.queries.submission_words import sentence_of_child
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.structs.allocation import ClientStatus, DeploymentHealth
from scheduler.structs.identity import JobKey
from scheduler.structs.job import ParameterizedJob, Periodic
from scheduler.structs.node import NodeStatus
from scheduler.structs.plan_annotations import DesiredUpdates, PlanAnnotations
from tests.builders import SOME_MOMENT, CountingIDs, make_allocation, make_job
from tests.callers import MANAGER
from tests.properties.histories import History

TEXT = """job "web" {
  group "web" {
    count = 3
    update {
      canary       = 2
      max_parallel = 1
    }
    task "web" {
      driver = "mock_driver"
      env { COLOUR = "green" }
      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
"""


@pytest.fixture
def running(store, node, ids):
    """The job of the text runs, all of it."""
    job = parse_text(TEXT).job
    register_job(store, JobRegistration(job=job), by=MANAGER, now=SOME_MOMENT, ids=ids)
    job = store.read(lambda reader: reader.job(JobKey("default", "web")))

    def work(change):
        for number in range(3):
            alloc = make_allocation(
                job,
                number,
                node_id=node.id,
                client_status=ClientStatus.RUNNING,
                deployment_status=DeploymentHealth(healthy=True),
            )
            put_found(change, alloc)

    store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)


def planned(browser, text):
    return browser.post("/jobs/default/web/edit/", text=text, step="plan").context["review"]


def test_canaries_are_named_when_the_environment_of_a_task_changed(browser, running):
    review = planned(browser, TEXT.replace("green", "blue"))
    assert review.groups[0].changes == (("canary", 2), ("ignore", 3))
    assert review.strong == "The plan fits: 2 started as canaries beside the old version."


def test_only_the_text_that_is_stored_changes_nothing(browser, running):
    assert planned(browser, TEXT).strong == "Nothing would change."
    told = planned(browser, TEXT.replace('job "web" {', 'job "web" {\n  meta { a = "b" }'))
    assert told.strong != "Nothing would change."


def test_a_job_of_no_allocation_stores_and_starts_nothing(browser, node):
    text = TEXT.replace("count = 3", "count = 0")
    review = browser.post("/jobs/new/", text=text, step="plan").context["review"]
    assert (review.strong, review.rest) == (
        "Nothing would be started.",
        "Running it only stores the job.",
    )


@pytest.mark.parametrize("field", sorted(set(DesiredUpdates.__struct_fields__) - {"ignore"}))
def test_whatever_a_plan_counts_is_named(field):
    # What is replaced now after a disconnection is counted among the placements as well.
    fields = {field: 7} | ({"place": 7} if field == "reschedule_now" else {})
    told = sentence(DesiredUpdates(**fields, ignore=2))
    assert re.search(r"\b7\b", told), told
    assert "Nothing" not in told


def test_what_finds_no_place_is_not_said_to_be_done():
    updates = DesiredUpdates(place=1, destructive_update=2, migrate=1)
    groups = (_group_change("service", "web", updates, plan(updates), {}),)
    assert groups[0].changes == (("place", 1), ("replace", 2), ("migrate", 1))


def plan(updates):
    return PlannedJob(
        annotations=PlanAnnotations(desired_updates={"web": updates}),
        failed_task_groups={},
        created_evaluations=(),
        placements=(),
        stops=(),
        preempted=(),
        diff=JobDiff(),
        job_modify_index=3,
        next_launch=None,
        warnings=(),
        index=9,
    )


def sentence(updates):
    found = plan(updates)
    group = _group_change("service", "web", updates, found, {})
    return " ".join(sentence_of(found, (group,), group.unplaced))


@pytest.mark.parametrize(
    ("kind", "unplaced", "told"),
    [
        (
            {"periodic": Periodic()},
            0,
            (
                "Running it starts nothing until it is launched.",
                "If it were launched now, 2 would be placed.",
            ),
        ),
        (
            {"parameterized_job": ParameterizedJob()},
            1,
            (
                "Running it starts nothing until it is dispatched.",
                (
                    "If it were dispatched now, 2 of 3 find a place, and 1 waits until there is"
                    " room; see why below."
                ),
            ),
        ),
    ],
)
def test_a_job_that_runs_as_its_children_is_not_said_to_start(kind, unplaced, told):
    assert sentence_of_child(make_job(**kind), 2, unplaced) == told


def test_what_goes_with_lost_nodes_is_not_nothing() -> None:
    history = History()
    history.submit(2)
    history.settle()
    for node in history.record.nodes():
        history.world.put_nodes(replace(node, status=NodeStatus.DOWN))
    told = review(
        history.record.snapshot(),
        parse_job(history.document("logs", 2)),
        by=MANAGER,
        now=history.now,
        ids=CountingIDs(prefix="c"),
    )
    assert (told.strong, told.rest) == (
        "3 allocations would be given up with the node.",
        "Nothing would be started.",
    )
