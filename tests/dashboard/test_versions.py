"""What is told of versions: words that agree with the difference they are told from."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.jobspec.diff import diff_jobs
from dashboard.versions import (
    NOTHING,
    changes,
    changes_told,
    comparison_told,
    counts_told,
    going_back,
    kept_told,
    version_state,
)
from scheduler.structs.constraint import Constraint
from scheduler.structs.deployment import DeploymentStatus
from scheduler.structs.job import VersionTag
from tests.builders import make_job, make_task, make_task_group

GROUP = make_task_group(name="web", count=2)


def job(version=0, *groups, **fields):
    return make_job(id="web", version=version, task_groups=groups or (GROUP,), **fields)


@pytest.mark.parametrize(
    ("version", "rollout", "told"),
    [
        pytest.param(job(5, stable=True), None, ("current", "current, stable"), id="current"),
        pytest.param(job(5), None, ("current", "current"), id="current-not-stable"),
        pytest.param(job(5, stop=True), None, ("stops", "stops the job"), id="stop"),
        pytest.param(job(4, stable=True), None, ("stable", "stable"), id="stable"),
        pytest.param(job(3), DeploymentStatus.FAILED, ("failed", "failed"), id="failed"),
        pytest.param(job(3), DeploymentStatus.CANCELLED, ("older", "not stable"), id="superseded"),
        pytest.param(job(3, type="batch"), None, ("older", "older"), id="batch-is-never-stable"),
    ],
)
def test_a_version_stands_as_its_marks_and_its_rollout_say(version, rollout, told):
    assert version_state(version, job(5), rollout) == told


@pytest.mark.parametrize(
    ("after", "told"),
    [
        pytest.param(job(1), NOTHING, id="nothing"),
        pytest.param(job(1, priority=70), "1 change: Priority", id="a-field-of-the-job"),
        pytest.param(
            job(1, make_task_group(name="web", count=5)), "1 change: Count of web", id="count"
        ),
        pytest.param(
            job(1, GROUP, make_task_group(name="cache")),
            "1 change: group cache added",
            id="a-group",
        ),
        pytest.param(
            job(1, make_task_group(name="web", count=2, tasks=(make_task(env={"A": "1"}),))),
            "1 change: Env[A] of web",
            id="an-entry-of-a-map",
        ),
        pytest.param(
            job(1, constraints=(Constraint(l_target="${node.class}", r_target="big"),)),
            "1 change: Constraint added",
            id="a-block",
        ),
        pytest.param(
            job(1, make_task_group(name="web", count=3), priority=1, all_at_once=True, name="x"),
            "4 changes: AllAtOnce, Name, Priority and 1 more",
            id="many",
        ),
    ],
)
def test_what_a_version_changed_is_counted_and_named(after, told):
    assert changes_told(diff_jobs(job(), after)) == told


@pytest.mark.parametrize(
    ("current", "version", "told"),
    [
        pytest.param(
            job(3, make_task_group(name="web", count=960)),
            job(1, make_task_group(name="web", count=600)),
            "web goes from 960 to 600.",
            id="fewer",
        ),
        pytest.param(
            job(3, GROUP, make_task_group(name="cache")), job(1), "cache goes.", id="group-goes"
        ),
        pytest.param(
            job(3),
            job(1, make_task_group(name="web", count=2, tasks=(make_task(env={"A": "1"}),))),
            "changed: web of web.",
            id="task",
        ),
        pytest.param(job(3, stop=True), job(1), "web comes.", id="a-stopped-job-starts"),
        pytest.param(
            job(3, priority=70),
            job(1),
            "It asks for what is asked for now: nothing is replaced because of its groups.",
            id="groups-are-alike",
        ),
    ],
)
def test_going_back_says_what_will_be_asked_for(current, version, told):
    assert going_back(current, version) == told


def test_counts_of_today_are_told_where_they_differ():
    now = job(2, make_task_group(name="web", count=7), make_task_group(name="new", count=3))
    assert counts_told(now, job(1)) == "web 7"
    assert counts_told(now, now) == ""
    assert counts_told(job(2, make_task_group(name="web", count=7), stop=True), job(1)) == ""


def test_a_comparison_says_when_there_is_nothing_to_compare():
    same, other = job(1), job(2)
    assert comparison_told(same, same, diff_jobs(same, same)) == "the same version twice"
    assert comparison_told(same, other, diff_jobs(same, other)) == "they say the same"


def test_tagged_versions_are_counted():
    versions = [job(2), job(1, version_tag=VersionTag(name="good")), job(0)]
    assert kept_told(versions) == "3 versions kept, 1 tagged"


@given(
    before=st.lists(st.integers(0, 9), max_size=5), after=st.lists(st.integers(0, 9), max_size=5)
)
def test_no_sentence_of_two_versions_contradicts_their_difference(before, after):
    old, new = (
        job(number, *(make_task_group(name=f"g{at}", count=n) for at, n in enumerate(counts)))
        for number, counts in enumerate((before, after))
    )
    diff = diff_jobs(old, new)
    found = changes(diff)
    told = changes_told(diff)
    assert (told == NOTHING) == (not found) == (diff.type == "None")
    assert not found or told.startswith(f"{len(found)} change")
    assert (comparison_told(old, new, diff) == "they say the same") == (not found)
