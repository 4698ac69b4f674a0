"""Core evaluations as a worker runs them; ids are rows of control-plane.md 16.3."""

import pytest
from msgspec.structs import replace

from scheduler.collection import core_scheduler, looks, reaps
from scheduler.messages import Reap, Reaped
from scheduler.ports import Change
from scheduler.state.collection_noun import COLLECTIONS
from scheduler.state.events import WriteKind
from scheduler.state.nouns import ACL_TOKENS
from scheduler.state.story_nouns import STORIES
from scheduler.state.writes.jobs import name_version
from scheduler.state.writes.stories import loss_begins
from scheduler.structs.acl_token import AclToken
from scheduler.structs.allocation import Allocation, ClientStatus
from scheduler.structs.collection import (
    FORCED_ORDER,
    WITHOUT_WORK,
    Collection,
    CoreJob,
    forced_cutoffs,
)
from scheduler.structs.deployment import Deployment, DeploymentStatus
from scheduler.structs.evaluation import EvalStatus, EvalTrigger, Evaluation
from scheduler.structs.job import Job, JobStatus, VersionTag
from scheduler.structs.node import NodeStatus
from scheduler.structs.story import StoryKind
from tests.builders import (
    SECOND,
    make_allocation,
    make_evaluation,
    make_job,
    make_node,
    make_task_group,
)
from tests.scheduler.collection.rounds import (
    HOUR,
    NOW,
    begin,
    make_store,
    perform,
    run_all,
    run_core,
)

DEAD = JobStatus.DEAD.value
E = make_evaluation(status=EvalStatus.COMPLETE)
OVER = {"client_status": ClientStatus.COMPLETE, "eval_id": E.id}
STOPPED = make_job(stop=True, status=DEAD)
DOWN = make_node(status=NodeStatus.DOWN)


def ended(*numbers: int) -> list[Evaluation]:
    return [E.changed(id=make_evaluation(number).id) for number in numbers]


def allocs(job: Job | None, count: int, **fields: object) -> list[Allocation]:
    return [make_allocation(job, number, **(OVER | fields)) for number in range(count)]


def asked(reaps_: list[Reap]) -> list[tuple[str, int]]:
    """What each reap names, and how much of it."""
    kinds = ("allocations", "evaluations", "jobs", "deployments", "nodes", "tokens")
    return [
        (kind, len(getattr(reap, kind)))
        for reap in reaps_
        for kind in kinds
        if getattr(reap, kind)
    ]


def test_c14_a_forced_run_ignores_ages_and_takes_nodes_last() -> None:
    lately = NOW - SECOND
    store = make_store(
        replace(STOPPED, submit_time=lately),
        E.changed(modify_time=lately),
        make_allocation(**(OVER | {"modify_time": lately})),
        Deployment(id="d", status=DeploymentStatus.FAILED, modify_time=lately),
        make_node(status=NodeStatus.DOWN, status_updated_at=lately // SECOND),
    )
    store.write("t", lambda c: c.put(ACL_TOKENS, token("t", lately)), now=NOW)

    assert run_all(store) == []

    forced = run_all(store, force=True)
    assert asked(forced) == [
        ("allocations", 1),
        ("evaluations", 1),
        ("jobs", 1),
        ("deployments", 1),
        ("tokens", 1),
        ("nodes", 1),
    ]
    assert [*store.jobs(), *store.nodes(), *store.evaluations(), *store.allocations()] == []
    assert [*store.deployments(), *store.list_all(ACL_TOKENS)] == []


def test_a_millisecond_is_not_old_even_when_it_is_forced() -> None:
    store = make_store(E.changed(modify_time=NOW - SECOND // 2000))
    assert run_all(store, force=True) == []


def test_c14_a_forced_run_stops_at_the_first_error() -> None:
    store = make_store(STOPPED, E, DOWN)
    batch = begin(store, CoreJob.FORCED)
    turn = batch.begin_all(now=NOW)
    [request] = turn.reaps
    [finish] = batch.give_up(request.eval_id, "the disk is full", now=NOW).finishes
    assert (finish.ack, finish.error) == (False, "the disk is full")
    assert batch.is_done
    assert batch.reaped(request.eval_id, Reaped()).reaps == (), "nothing comes after it"


def test_c15_allocations_fill_a_write_before_evaluations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reaps, "IDS_AT_ONCE", 2)
    store = make_store(*ended(1, 2, 3), *allocs(None, 3))
    found = run_core(store, CoreJob.EVALUATIONS)
    assert [(len(r.allocations), len(r.evaluations)) for r in found] == [(2, 0), (1, 1), (0, 2)]


def test_c15_no_write_may_name_more_than_the_reference_does() -> None:
    reap = Reap(core_job="eval-gc", started_at=1, cutoffs=forced_cutoffs(NOW))
    many = tuple(map(str, range(reaps.MOST_IDS)))
    jobs = (STOPPED.key,) * (reaps.MOST_JOBS + 1)
    assert (reaps.MOST_IDS, reaps.MOST_JOBS) == (7281, 2048)
    assert not reaps.is_too_large(replace(reap, evaluations=many))
    assert reaps.is_too_large(replace(reap, evaluations=many, allocations=("one more",)))
    assert reaps.is_too_large(replace(reap, jobs=jobs))
    assert not reaps.is_too_large(replace(reap, jobs=jobs[1:]))


def test_an_empty_round_asks_for_nothing_and_is_noted() -> None:
    store = make_store()
    assert run_all(store) == []
    noted = store.get(COLLECTIONS, CoreJob.EVALUATIONS)
    assert noted == Collection(
        name="eval-gc",
        started_at=NOW,
        ended_at=NOW,
        create_index=noted.create_index,
        modify_index=noted.modify_index,
    )


def test_what_a_run_deleted_is_counted_in_its_row() -> None:
    store = make_store(make_job(), *ended(1, 2), *allocs(make_job(), 3))
    run_core(store, CoreJob.EVALUATIONS)
    noted = store.get(COLLECTIONS, CoreJob.EVALUATIONS)
    assert (noted.evaluations, noted.allocations, noted.jobs, noted.ended_at) == (2, 3, 0, NOW)


# Bounded looks.


def test_a_long_round_goes_on_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looks, "LOOKED_AT_ONCE", 2)
    monkeypatch.setattr(core_scheduler, "LOOKS_IN_ONE_RUN", 2)
    store = make_store(*ended(*range(1, 8)))
    batch = begin(store, CoreJob.EVALUATIONS)
    turn = batch.begin_all(now=NOW)
    for _ in range(2):
        [request] = turn.reaps
        turn = batch.reaped(request.eval_id, perform(store, request.reap))
    assert turn.finishes[0].goes_on == f"eval-gc:{make_evaluation(4).id}"
    assert len(store.evaluations()) == 3

    run_core(store, turn.finishes[0].goes_on)
    assert store.evaluations() == []


def test_what_stays_is_looked_at_once_in_a_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looks, "LOOKED_AT_ONCE", 1)
    monkeypatch.setattr(core_scheduler, "LOOKS_IN_ONE_RUN", 1)
    running = make_job()
    stays = make_allocation(running, eval_id=make_evaluation(1).id)
    store = make_store(running, stays, *ended(1, 2))
    assert asked(run_core(store, CoreJob.EVALUATIONS)) == [("evaluations", 1)]
    assert [row.id for row in store.evaluations()] == [make_evaluation(1).id]


def test_a_job_with_much_goes_in_several_runs_and_last_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(looks, "FOUND_AT_ONCE", 2)
    store = make_store(STOPPED, *ended(1, 2), *allocs(STOPPED, 3))
    found = run_core(store, CoreJob.JOBS)
    assert asked(found) == [
        ("allocations", 2),
        ("allocations", 1),
        ("evaluations", 1),
        ("evaluations", 1),
        ("jobs", 1),
    ]
    assert [*store.jobs(), *store.evaluations(), *store.allocations()] == []


def test_a_job_of_which_nothing_goes_is_not_looked_at_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(looks, "FOUND_AT_ONCE", 1)
    other = make_job(id="zz", stop=True, status=DEAD)
    store = make_store(STOPPED, other, *ended(1, 2), *allocs(STOPPED, 3))
    batch = begin(store, CoreJob.JOBS)
    [request] = batch.begin_all(now=NOW).reaps
    turn = batch.reaped(request.eval_id, Reaped())
    assert turn.finishes[0].goes_on == f"job-gc:default/{STOPPED.id}"
    assert asked(run_core(store, turn.finishes[0].goes_on)) == [("jobs", 1)]


def test_c09_nothing_of_a_job_goes_before_everything_can() -> None:
    alive = make_allocation(STOPPED, 9)
    store = make_store(STOPPED, E, *allocs(STOPPED, 2), alive)
    assert run_core(store, CoreJob.JOBS) == []
    store.write(
        WriteKind.ALLOCATION_UPDATED,
        lambda change: change.put_allocation(
            alive.changed(client_status=ClientStatus.COMPLETE, eval_id=E.id)
        ),
        now=NOW,
    )
    assert asked(run_core(store, CoreJob.JOBS)) == [
        ("allocations", 3),
        ("evaluations", 1),
        ("jobs", 1),
    ]


def test_a_node_that_goes_is_news_for_the_jobs_that_would_run_on_it() -> None:
    logs = make_job(id="logs", type="system")
    store = make_store(logs, make_node())

    def lose(change: Change) -> None:
        loss_begins(change, make_node(), "look")
        change.put_node(DOWN)

    store.write(WriteKind.NODE_REGISTRATION, lose, now=NOW - 50 * HOUR)
    run_core(store, CoreJob.NODES)
    (loss,) = [story for story in store.list_all(STORIES) if story.kind is StoryKind.LOSS]
    assert {row.story_id for row in store.evaluations()} == {loss.id}
    assert [(e.job_id, e.triggered_by, e.node_id) for e in store.evaluations()] == [
        ("logs", EvalTrigger.NODE_UPDATE, DOWN.id)
    ]


# Asked for again inside the write.


def test_rows_that_came_to_life_again_are_left_alone() -> None:
    running = make_allocation()
    store = make_store(make_job(), make_evaluation(), running, make_node())
    reap = Reap(
        core_job="force-gc",
        started_at=NOW,
        cutoffs=forced_cutoffs(NOW),
        allocations=(running.id,),
        evaluations=(E.id, "gone"),
        jobs=(make_job().key,),
        nodes=(make_node().id,),
        deployments=("gone",),
        tokens=("gone",),
    )
    before = store.index
    assert perform(store, reap) == Reaped()
    assert store.index == before


def test_a_job_that_is_registered_again_keeps_its_finished_work() -> None:
    """Else the scheduler would run the finished batch once more."""
    batch = make_job(type="batch", status=DEAD, job_modify_index=1)
    store = make_store(batch, E.changed(type="batch"), *allocs(batch, 1, create_index=5))
    worker = begin(store, CoreJob.JOBS)
    [request] = worker.begin_all(now=NOW).reaps
    store.write(
        WriteKind.JOB_REGISTERED,
        lambda change: change.put_job(replace(batch, status="pending")),
        now=NOW,
    )
    assert perform(store, request.reap) == Reaped()
    assert len(store.allocations()) == 1


def test_an_evaluation_stays_while_anything_of_it_is_left() -> None:
    store = make_store(make_job(), E, *allocs(make_job(), 1))
    worker = begin(store, CoreJob.EVALUATIONS)
    [request] = worker.begin_all(now=NOW).reaps
    late = store.allocations()[0].changed(modify_time=NOW)
    store.write(WriteKind.ALLOCATION_UPDATED, lambda change: change.put_allocation(late), now=NOW)
    assert perform(store, request.reap) == Reaped()
    assert store.evaluation(E.id) is not None


def test_c10_a_tag_set_meanwhile_keeps_the_job_also_from_a_forced_run() -> None:
    store = make_store(STOPPED)
    worker = begin(store, CoreJob.FORCED)
    [request] = worker.begin_all(now=NOW).reaps
    store.write(
        WriteKind.JOB_REGISTERED,
        lambda change: name_version(change, STOPPED.key, 0, VersionTag(name="v1")),
        now=NOW,
    )
    assert perform(store, request.reap) == Reaped()
    assert run_all(store, force=True) == []


def test_c10_a_tag_on_an_older_version_keeps_the_job() -> None:
    store = make_store(replace(STOPPED, version_tag=VersionTag(name="v1")))
    store.write(
        WriteKind.JOB_REGISTERED,
        lambda change: change.put_job(replace(STOPPED, version=1)),
        now=NOW,
    )
    assert run_all(store, force=True) == []
    assert store.job(STOPPED.key) is not None


def test_a_second_delivery_does_no_harm() -> None:
    store = make_store(STOPPED, *ended(1, 2), *allocs(STOPPED, 3))
    first, second = begin(store, CoreJob.JOBS), begin(store, CoreJob.JOBS)
    turns = [first.begin_all(now=NOW), second.begin_all(now=NOW)]
    deleted = []
    while any(turn.reaps for turn in turns):
        for place, batch in enumerate((first, second)):
            for request in turns[place].reaps:
                deleted.append(perform(store, request.reap).count)
                turns[place] = batch.reaped(request.eval_id, Reaped())
    assert deleted == [5, 0, 1, 0]
    row = store.get(COLLECTIONS, CoreJob.JOBS)
    assert (row.jobs, row.allocations, row.evaluations) == (1, 3, 2)


# Other core jobs.


def token(name: str, expires: int, *, is_global: bool = False) -> AclToken:
    return AclToken(accessor_id=name, name=name, expiration_time=expires, global_=is_global)


def test_expired_tokens_go_an_hour_later_by_the_job_of_their_kind() -> None:
    store = make_store()
    old, young = NOW - HOUR, NOW - HOUR + 1
    tokens = [
        token("old", old),
        token("young", young),
        token("never", 0),
        token("old-global", old, is_global=True),
    ]
    store.write("t", lambda change: [change.put(ACL_TOKENS, each) for each in tokens], now=1)

    def left() -> list[str]:
        return [each.accessor_id for each in store.list_all(ACL_TOKENS)]

    run_core(store, CoreJob.LOCAL_TOKENS)
    assert left() == ["never", "old-global", "young"]
    run_core(store, CoreJob.GLOBAL_TOKENS)
    assert left() == ["never", "young"]
    run_core(store, CoreJob.FORCED)
    assert left() == ["never"]


@pytest.mark.parametrize("core_job", sorted(WITHOUT_WORK))
def test_core_jobs_without_work_end_without_a_word(core_job: str) -> None:
    store = make_store(STOPPED, E)
    [finish] = begin(store, core_job).begin_all(now=NOW).finishes
    assert (finish.ack, finish.goes_on, finish.update, finish.created) == (True, "", None, ())


@pytest.mark.parametrize(
    "job_id", ["", "web", "eval", "force-gc:web", "force-gc:variables-rekey:x"]
)
def test_an_unknown_core_job_is_an_error(job_id: str) -> None:
    [finish] = begin(make_store(), job_id).begin_all(now=NOW).finishes
    assert (finish.ack, finish.error) == (False, f"core scheduler cannot handle job '{job_id}'")


@pytest.mark.parametrize("stage", FORCED_ORDER)
def test_a_forced_run_goes_on_at_any_stage(stage: str) -> None:
    store = make_store(STOPPED, E, DOWN)
    found = asked(run_core(store, f"force-gc:{stage}:"))
    is_behind_jobs = stage != CoreJob.JOBS
    is_behind_evaluations = is_behind_jobs and stage != CoreJob.EVALUATIONS
    expected = [] if is_behind_evaluations else [("evaluations", 1)]
    expected += [] if is_behind_jobs else [("jobs", 1)]
    assert found == [*expected, ("nodes", 1)]


def test_an_argument_behind_the_colon_leads_to_its_core_job() -> None:
    [finish] = begin(make_store(), "csi-volume-claim-gc:data").begin_all(now=NOW).finishes
    assert finish.ack


def test_a_group_of_core_and_other_evaluations_shares_a_batch() -> None:
    """The plan of the one and the reap of the other are out at once."""
    job = make_job(task_groups=(make_task_group(count=1),))
    store = make_store(job, make_node(), E.changed(job_id="gone"))
    batch = begin(store, CoreJob.EVALUATIONS)
    assert batch.working_on == ()
    turn = batch.begin_all(now=NOW)
    assert (len(turn.reaps), turn.plans) == (1, ())
    assert batch.working_on == ("core-eval-gc",)
