"""Launching children of periodic jobs, by time and by hand, on the store in memory."""

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from cluster.jobspec.parse import parse_job
from cluster.operations.errors import NotAllowed, OperationRefused
from cluster.operations.jobs import JobRegistration, deregister_job, register_job
from cluster.operations.launch_view import LaunchView, launch_view
from cluster.operations.periodic import Launched, force_launch, launch_due
from scheduler.access.caller import CLUSTER
from scheduler.state.events import WriteKind
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.nouns import JOB_SUMMARIES, NAMESPACES
from scheduler.state.periodic_noun import PERIODIC_LAUNCHES
from scheduler.state.writes.job_status import refresh_job_status
from scheduler.state.writes.jobs import write_job
from scheduler.structs.evaluation import Cause, CauseKind, EvalStatus, Evaluation
from scheduler.structs.identity import JobKey
from scheduler.structs.job import JobChildrenSummary, Namespace, VersionTag
from scheduler.structs.periodic_launch import (
    KEPT_LAUNCHES,
    LaunchOutcome,
    PastLaunch,
    PeriodicLaunch,
)
from scheduler.structs.story import version_story_id
from tests.builders import SECOND, CountingIDs
from tests.callers import MANAGER, caller_with

HOUR = 3600 * SECOND


def instant(*moment):
    return round(datetime(*moment, tzinfo=UTC).timestamp()) * SECOND


#: The clock of these tests, five minutes before a full hour.
NOW = instant(2026, 11, 22, 2, 55)
THREE = instant(2026, 11, 22, 3)
KEY = JobKey("default", "etl")


def make_job(job_id="etl", namespace="default", crons=("@hourly",), **fields):
    task = {"Name": "main", "Driver": "mock_driver"}
    group = {"Name": "group", "Count": 2, "Tasks": [task]}
    periodic = {"Specs": list(crons), **fields.pop("Periodic", {})}
    return parse_job(
        {
            "ID": job_id,
            "Namespace": namespace,
            "Type": "batch",
            "TaskGroups": [group],
            "Periodic": periodic,
            **fields,
        }
    )


@pytest.fixture
def store():
    return MemoryStateStore()


@pytest.fixture
def ids():
    return CountingIDs()


def register(store, ids, job=None, now=NOW):
    request = JobRegistration(job=job or make_job())
    return register_job(store, request, by=MANAGER, now=now, ids=ids)


def launch(store, ids, now, key=KEY, **options):
    return launch_due(store, key, by=CLUSTER, now=now, ids=ids, **options)


def having(*rights):
    listed = ", ".join(f'"{right}"' for right in rights)
    return caller_with(f'namespace "default" {{ capabilities = [{listed}] }}')


def force(store, ids, now=NOW, key=KEY, by=MANAGER):
    return force_launch(store, key, by=by, now=now, ids=ids)


def history(store, key=KEY):
    kept = store.get(PERIODIC_LAUNCHES, key)
    return [(str(each.outcome), each.due) for each in kept.history]


def children(store, parent="etl"):
    return [job for job in store.jobs() if job.parent_id == parent]


def end(store, child, now):
    """What the child was evaluated for is done."""

    def work(change):
        for evaluation in change.evaluations_by_job(child.key):
            change.put_evaluation(evaluation.changed(status=EvalStatus.COMPLETE))
        refresh_job_status(change, child.key)

    store.write(WriteKind.EVALUATION_UPDATED, work, now=now)


def test_j04_a_registration_begins_to_follow_the_schedule_and_makes_no_evaluation(store, ids):
    written = register(store, ids)

    assert written.eval_id == ""
    assert store.get(PERIODIC_LAUNCHES, KEY) == PeriodicLaunch(
        job_id="etl",
        launch=NOW,
        decided_to=NOW,
        create_index=written.index,
        modify_index=written.index,
    )
    assert deregister_job(store, KEY, by=MANAGER, now=NOW, ids=ids).eval_id == ""


def test_what_is_due_is_launched_as_a_child_with_its_evaluation_in_one_write(store, ids):
    """The row `periodic-job` of evaluations.md 2."""
    before = register(store, ids).index
    parent = store.job(KEY)

    launched = launch(store, ids, THREE + 7)

    name = f"etl/periodic-{THREE // SECOND}"
    assert launched == Launched(
        index=before + 1,
        child_id=name,
        eval_id=launched.eval_id,
        eval_create_index=before + 1,
    )
    child = store.job(JobKey("default", name))
    assert (child.name, child.parent_id, child.periodic) == (name, "etl", None)
    assert (child.status, child.version, child.submit_time) == ("pending", 0, THREE + 7)
    assert child.task_groups == parent.task_groups
    assert [*store.evaluations()] == [
        Evaluation(
            id=launched.eval_id,
            type="batch",
            priority=50,
            triggered_by="periodic-job",
            job_id=name,
            job_modify_index=before + 1,
            create_index=before + 1,
            modify_index=before + 1,
            create_time=THREE + 7,
            modify_time=THREE + 7,
            cause=Cause(kind=CauseKind.TIMER, id="etl", text=f"due at {THREE // SECOND}"),
            story_id=version_story_id(JobKey("default", name), before + 1, 0),
        )
    ]
    assert [frame.kind for frame in store.frames_since(before)] == [WriteKind.JOB_LAUNCH_DECIDED]
    assert store.get(PERIODIC_LAUNCHES, KEY) == PeriodicLaunch(
        job_id="etl",
        launch=THREE,
        decided_to=THREE,
        launched=1,
        history=(PastLaunch(due=THREE, at=THREE + 7, child_id=name),),
        create_index=parent.create_index,
        modify_index=before + 1,
    )


def test_a_launch_is_made_once_however_often_it_is_asked_for(store, ids):
    register(store, ids)
    launch(store, ids, THREE)
    before = store.index

    again = [launch(store, ids, THREE + passed * SECOND) for passed in (0, 1, 3599)]

    assert again == [Launched(index=before)] * 3
    assert len(children(store)) == 1


def test_nothing_is_launched_before_it_is_due(store, ids):
    register(store, ids)
    before = store.index
    assert launch(store, ids, THREE - 1) == Launched(index=before)
    assert children(store) == []


def test_the_first_of_several_expressions_counts(store, ids):
    register(store, ids, make_job(crons=("@daily", "57 2 * * *", "@hourly")))
    launch(store, ids, THREE - 180 * SECOND)
    launch(store, ids, THREE)
    assert history(store) == [("ran", THREE - 180 * SECOND), ("ran", THREE)]


def test_j16_a_parent_counts_its_children(store, ids):
    register(store, ids)
    launched = launch(store, ids, THREE)
    launch(store, ids, THREE + HOUR)
    assert store.get(JOB_SUMMARIES, KEY).children == JobChildrenSummary(pending=2)

    end(store, store.job(JobKey("default", launched.child_id)), THREE + HOUR)

    assert store.get(JOB_SUMMARIES, KEY).children == JobChildrenSummary(pending=1, dead=1)
    assert store.job(KEY).status == "running"


def test_j20_of_two_due_seconds_one_is_launched_where_overlap_is_prohibited(store, ids):
    every_second = make_job(crons=("* * * * * * *",), Periodic={"ProhibitOverlap": True})
    register(store, ids, every_second)

    first = launch(store, ids, NOW + SECOND)
    launch(store, ids, NOW + 2 * SECOND)

    assert [child.id for child in children(store)] == [first.child_id]
    assert history(store) == [("ran", NOW + SECOND), ("skipped", NOW + 2 * SECOND)]
    skipped = store.get(PERIODIC_LAUNCHES, KEY).history[-1]
    assert skipped == PastLaunch(
        due=NOW + 2 * SECOND,
        outcome=LaunchOutcome.SKIPPED,
        at=NOW + 2 * SECOND,
        child_id=first.child_id,
    )
    end(store, children(store)[0], NOW + 3 * SECOND)
    assert launch(store, ids, NOW + 3 * SECOND).child_id == f"etl/periodic-{NOW // SECOND + 3}"


def test_only_launched_children_of_this_very_job_count_as_overlap(store, ids):
    other = make_job("etl2", Periodic={"ProhibitOverlap": True})
    register(store, ids, make_job(Periodic={"ProhibitOverlap": True}))
    register(store, ids, other)
    launch(store, ids, THREE, other.key)
    assert launch(store, ids, THREE).child_id


def test_j21_of_launches_missed_without_a_leader_one_is_made_up_for(store, ids):
    register(store, ids)
    late = THREE + 2 * HOUR + 250 * SECOND

    launched = launch(store, ids, late, catches_up=True)

    assert launched.child_id == f"etl/periodic-{late // SECOND}"
    assert len(children(store)) == 1
    assert history(store) == [
        ("missed", THREE),
        ("missed", THREE + HOUR),
        ("ran", THREE + 2 * HOUR),
    ]
    kept = store.get(PERIODIC_LAUNCHES, KEY)
    assert [each.is_late for each in kept.history] == [False, False, True]
    assert (kept.launch, kept.decided_to, kept.launched) == (late, late, 1)
    assert store.evaluation(launched.eval_id).cause == Cause(
        kind=CauseKind.TIMER,
        id="etl",
        text=f"due at {(THREE + 2 * HOUR) // SECOND}, and 2 missed before",
    )


def test_j21_of_missed_launches_none_is_made_up_for_while_a_child_runs(store, ids):
    register(store, ids, make_job(Periodic={"ProhibitOverlap": True}))
    launch(store, ids, THREE)

    assert launch(store, ids, THREE + 2 * HOUR, catches_up=True).child_id == ""

    assert len(children(store)) == 1
    assert history(store) == [
        ("ran", THREE),
        ("missed", THREE + HOUR),
        ("skipped", THREE + 2 * HOUR),
    ]


def test_j21_a_launch_by_hand_stands_for_those_missed_before_it(store, ids):
    register(store, ids)
    force(store, ids, THREE + HOUR)
    launch(store, ids, THREE + HOUR + 60 * SECOND, catches_up=True)
    assert len(children(store)) == 1
    assert history(store) == [
        ("forced", THREE + HOUR),
        ("missed", THREE),
        ("missed", THREE + HOUR),
    ]


def test_a_leader_that_slept_makes_up_for_its_sleep_once(store, ids):
    register(store, ids, make_job(crons=("* * * * * * *",)))
    assert launch(store, ids, NOW + 30 * SECOND).child_id == f"etl/periodic-{NOW // SECOND + 30}"
    assert len(children(store)) == 1
    outcomes = [outcome for outcome, _ in history(store)]
    assert outcomes == ["missed"] * 29 + ["ran"]


def test_a_leader_that_is_a_little_late_misses_nothing(store, ids):
    register(store, ids, make_job(crons=("* * * * * * *",)))
    for _ in range(3):
        launch(store, ids, NOW + 3 * SECOND)
    assert history(store) == [("ran", NOW + number * SECOND) for number in (1, 2, 3)]


def test_a_job_that_was_away_for_a_year_is_decided_at_once(store, ids):
    register(store, ids, make_job(crons=("* * * * * * *",)))
    late = NOW + 365 * 24 * HOUR
    launch(store, ids, late)
    kept = store.get(PERIODIC_LAUNCHES, KEY)
    assert len(children(store)) == 1
    assert (len(kept.history), kept.decided_to) == (KEPT_LAUNCHES, late)
    assert kept.history[-1].due == late


def test_j22_the_same_id_in_two_namespaces_is_launched_in_both(store, ids):
    store.write("made", lambda change: change.put(NAMESPACES, Namespace(name="team")), now=NOW)
    for namespace in ("default", "team"):
        register(store, ids, make_job(namespace=namespace))
        launch(store, ids, THREE, JobKey(namespace, "etl"))
    name = f"etl/periodic-{THREE // SECOND}"
    assert [job.key for job in children(store)] == [
        JobKey("default", name),
        JobKey("team", name),
    ]


@pytest.mark.parametrize(
    ("cron", "zone", "begin", "times"),
    [
        pytest.param(
            "2 2 * * *",
            "America/Los_Angeles",
            (2026, 3, 7, 20),
            [(2026, 3, 9, 9, 2), (2026, 3, 10, 9, 2)],
            id="J23-spring-forward-skips-the-day",
        ),
        pytest.param(
            "30 1 * * *",
            "America/Los_Angeles",
            (2026, 11, 1, 7),
            [(2026, 11, 1, 8, 30), (2026, 11, 1, 9, 30), (2026, 11, 2, 9, 30)],
            id="J23-fall-back-launches-twice",
        ),
        pytest.param(
            "0 * * * *",
            "Europe/Berlin",
            (2026, 3, 29, 0, 30),
            [(2026, 3, 29, 1), (2026, 3, 29, 2)],
            id="J23-every-hour-of-a-short-day",
        ),
        pytest.param(
            "0 * * * *",
            "Europe/Berlin",
            (2026, 10, 24, 23, 30),
            [(2026, 10, 25, 0), (2026, 10, 25, 1), (2026, 10, 25, 2)],
            id="J23-every-hour-of-a-long-day",
        ),
    ],
)
def test_daylight_saving_moves_launches(store, ids, cron, zone, begin, times):
    job = make_job(crons=(cron,), Periodic={"TimeZone": zone})
    register(store, ids, job, instant(*begin))
    for now in range(instant(*begin), instant(*times[-1]) + SECOND, 60 * SECOND):
        launch(store, ids, now)
    assert history(store) == [("ran", instant(*time)) for time in times]


def test_a_clock_set_forward_by_an_hour_is_made_up_for_once(store, ids):
    register(store, ids, make_job(crons=("*/15 * * * *",)))
    launch(store, ids, THREE)
    launch(store, ids, THREE + HOUR + SECOND)
    assert history(store) == [
        ("ran", THREE),
        *[("missed", THREE + quarter * HOUR // 4) for quarter in (1, 2, 3)],
        ("ran", THREE + HOUR),
    ]
    assert len(children(store)) == 2


def test_a_clock_set_back_by_an_hour_launches_nothing_twice(store, ids):
    register(store, ids, make_job(crons=("*/15 * * * *",)))
    for quarter in range(5):
        launch(store, ids, THREE + quarter * HOUR // 4)
    before = history(store)

    for quarter in range(5):
        launch(store, ids, THREE + quarter * HOUR // 4 + SECOND)

    assert history(store) == before
    assert launch(store, ids, THREE + 5 * HOUR // 4).child_id


def test_a_clock_that_was_wrong_by_years_does_not_end_the_launches(store, ids):
    register(store, ids)
    launch(store, ids, THREE + 2 * 365 * 24 * HOUR)
    assert launch(store, ids, THREE).child_id == ""
    assert launch(store, ids, THREE + HOUR + 60 * SECOND, catches_up=True).child_id
    five = THREE + 2 * HOUR
    assert launch(store, ids, five).child_id == f"etl/periodic-{five // SECOND}"


def test_a_new_version_with_the_same_schedule_loses_no_launch(store, ids):
    register(store, ids)
    register(store, ids, make_job(Priority=70), THREE + SECOND)
    launched = launch(store, ids, THREE + 2 * SECOND)
    child = store.job(JobKey("default", launched.child_id))
    assert (child.priority, child.version) == (70, 1)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"crons": ("30 * * * *",)}, id="expression"),
        pytest.param({"Periodic": {"TimeZone": "Asia/Kolkata"}}, id="zone"),
    ],
)
def test_a_changed_schedule_begins_from_now(store, ids, change):
    """It names half past two, which is over."""
    begin = THREE - HOUR + 60 * SECOND
    register(store, ids, now=begin)
    register(store, ids, make_job(**change))
    assert launch(store, ids, NOW + SECOND).child_id == ""
    kept = store.get(PERIODIC_LAUNCHES, KEY)
    assert (kept.launch, kept.decided_to) == (begin, NOW)
    half = THREE + HOUR // 2
    assert launch(store, ids, half).child_id == f"etl/periodic-{half // SECOND}"


def test_a_schedule_changed_after_the_clock_was_set_back_repeats_nothing(store, ids):
    register(store, ids)
    launch(store, ids, THREE)
    register(store, ids, make_job(crons=("*/5 * * * *",)), NOW)
    assert launch(store, ids, THREE).child_id == ""
    assert launch(store, ids, THREE + 300 * SECOND).child_id


@pytest.mark.parametrize("how", ["stopped", "disabled"])
def test_a_job_that_is_off_launches_nothing_and_begins_from_now_when_it_is_on(store, ids, how):
    register(store, ids)
    if how == "stopped":
        deregister_job(store, KEY, by=MANAGER, now=NOW, ids=ids)
    else:
        register(store, ids, make_job(Periodic={"Enabled": False}))
    assert launch(store, ids, THREE).child_id == ""

    register(store, ids, now=THREE + 6 * HOUR + SECOND)

    assert launch(store, ids, THREE + 6 * HOUR + 2 * SECOND, catches_up=True).child_id == ""
    assert launch(store, ids, THREE + 7 * HOUR).child_id


def test_children_of_a_stopped_job_keep_running(store, ids):
    register(store, ids)
    launched = launch(store, ids, THREE)
    deregister_job(store, KEY, by=MANAGER, now=THREE, ids=ids)
    child = store.job(JobKey("default", launched.child_id))
    assert (child.stop, child.status, store.job(KEY).status) == (False, "pending", "dead")


def test_a_purge_takes_what_is_known_of_launches_along_and_leaves_the_children(store, ids):
    register(store, ids)
    launch(store, ids, THREE)
    deregister_job(store, KEY, by=MANAGER, purge=True, now=THREE, ids=ids)
    assert store.get(PERIODIC_LAUNCHES, KEY) is None
    assert len(children(store)) == 1
    # A launch that was decided before the purge comes too late.
    before = store.index
    assert launch(store, ids, THREE + HOUR) == Launched(index=before)


def test_a_parameterized_job_is_not_launched_by_time(store, ids):
    register(store, ids, make_job(ParameterizedJob={"Payload": "optional"}))
    assert store.get(PERIODIC_LAUNCHES, KEY) is None
    assert launch(store, ids, THREE).child_id == ""


def test_a_tag_of_the_parent_is_none_of_its_children(store, ids):
    """Tagged jobs are never collected."""
    tagged = replace(make_job(), version_tag=VersionTag(name="good"))
    store.write(WriteKind.JOB_REGISTERED, lambda change: write_job(change, tagged), now=NOW)
    assert store.job(KEY).version_tag is not None
    launched = launch(store, ids, THREE)
    assert store.job(JobKey("default", launched.child_id)).version_tag is None


def test_only_so_many_launches_are_kept(store, ids):
    register(store, ids)
    for hour in range(KEPT_LAUNCHES + 3):
        launch(store, ids, THREE + hour * HOUR)
    kept = store.get(PERIODIC_LAUNCHES, KEY)
    assert len(kept.history) == KEPT_LAUNCHES
    assert kept.history[0].due == THREE + 3 * HOUR
    assert kept.launched == KEPT_LAUNCHES + 3


def test_a_launch_by_hand_is_beside_the_schedule_and_ignores_overlap(store, ids):
    register(store, ids, make_job(Periodic={"ProhibitOverlap": True}))
    launch(store, ids, THREE)

    forced = force(store, ids, THREE + 60 * SECOND)

    assert forced.child_id == f"etl/periodic-{THREE // SECOND + 60}"
    evaluation = store.evaluation(forced.eval_id)
    assert evaluation.triggered_by == "periodic-job"
    assert evaluation.cause == Cause(kind=CauseKind.OPERATOR, id="etl", text="launch asked for")
    assert history(store) == [("ran", THREE), ("forced", THREE + 60 * SECOND)]
    launch(store, ids, THREE + HOUR)
    assert history(store)[-1] == ("skipped", THREE + HOUR)


def test_a_child_has_scaling_policies_of_its_own(store, ids):
    job = make_job(
        TaskGroups=[
            {
                "Name": "group",
                "Count": 2,
                "Scaling": {"Min": 1, "Max": 5},
                "Tasks": [{"Name": "main", "Driver": "mock_driver"}],
            }
        ]
    )
    register(store, ids, job)
    launched = force(store, ids)
    force(store, ids)
    of_parent, of_child = (
        store.job(JobKey("default", name)).task_groups[0].scaling
        for name in ("etl", launched.child_id)
    )
    assert of_parent.id != of_child.id
    assert (of_parent.target["Job"], of_child.target["Job"]) == ("etl", launched.child_id)
    assert [job.version for job in children(store)] == [0]


def test_launches_by_hand_in_one_second_share_a_child(store, ids):
    register(store, ids)
    first, second = force(store, ids), force(store, ids, NOW + 1)
    kept = [past.child_id for past in store.get(PERIODIC_LAUNCHES, KEY).history]
    assert ([job.version for job in children(store)], kept) == ([0], [second.child_id])
    assert {e.id for e in store.evaluations()} == {first.eval_id, second.eval_id}


@pytest.mark.parametrize(
    ("job", "text"),
    [
        pytest.param(None, "job not found", id="unknown"),
        pytest.param(
            parse_job(
                {
                    "ID": "etl",
                    "Type": "batch",
                    "TaskGroups": [
                        {"Name": "g", "Tasks": [{"Name": "t", "Driver": "mock_driver"}]}
                    ],
                }
            ),
            "can't force launch non-periodic job",
            id="not-periodic",
        ),
        pytest.param(
            make_job(Periodic={"Enabled": False}),
            'force launch for job "etl" failed: can\'t force run non-tracked job "etl" (default)',
            id="disabled",
        ),
    ],
)
def test_what_cannot_be_launched_by_hand_says_why_and_writes_nothing(store, ids, job, text):
    if job is not None:
        register(store, ids, job)
    before = store.index
    with pytest.raises(OperationRefused) as refusal:
        force(store, ids)
    assert str(refusal.value) == text
    assert store.index == before


@pytest.mark.parametrize("right", ["submit-job", "dispatch-job", "force-periodic-job"])
def test_any_of_three_rights_lets_launch_by_hand(store, ids, right):
    register(store, ids)
    assert force(store, ids, by=having(right)).child_id


def test_other_rights_do_not_let_launch_by_hand(store, ids):
    register(store, ids)
    with pytest.raises(NotAllowed):
        force(store, ids, by=having("read-job", "register-job"))
    with pytest.raises(NotAllowed):
        launch_due(store, KEY, by=having("submit-job"), now=THREE, ids=ids)


def test_a_page_is_told_what_comes_and_what_was(store, ids):
    register(store, ids)
    launch(store, ids, THREE)
    kept = store.get(PERIODIC_LAUNCHES, KEY)
    view = launch_view(store.job(KEY), kept, now=THREE + SECOND, at_most=2)
    assert view == LaunchView(
        next_due=THREE + HOUR,
        upcoming=(THREE + HOUR, THREE + 2 * HOUR),
        past=kept.history,
        launched=1,
        last_launch=THREE,
    )
    late = launch_view(store.job(KEY), kept, now=THREE + HOUR + SECOND, at_most=1)
    assert (late.next_due, late.upcoming) == (THREE + HOUR, (THREE + 2 * HOUR,))
    deregister_job(store, KEY, by=MANAGER, now=THREE, ids=ids)
    stopped = launch_view(store.job(KEY), kept, now=THREE)
    assert (stopped.next_due, stopped.upcoming) == (None, ())
