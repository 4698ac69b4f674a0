"""Which runs of a job stay explained, whatever comes after them."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.memory_store import MemoryStateStore
from scheduler.state.writes.explanations import firsts_of_versions, kept_runs, write_explanations
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.explanation import ExplainedBounds, ExplainedRun, RunEnd, StoredExplanation
from tests.builders import make_evaluation, make_job

KEY = make_job().key
FEW = ExplainedBounds(runs=6, size=600)


@pytest.fixture
def store():
    return MemoryStateStore()


def explained(eval_id, *, version=0, ended=RunEnd.PLACED, size=100):
    return StoredExplanation(
        eval_id=eval_id,
        task_group="web",
        namespace=KEY.namespace,
        job_id=KEY.job_id,
        job_version=version,
        ended=ended,
        packed=b"x" * size,
    )


def explain(store, *explanations, bounds=FEW):
    def work(change):
        write_explanations(change, explanations, bounds)

    store.write(WriteKind.EVALUATION_UPDATED, work, now=1)


def kept(store):
    return [run.eval_id for run in store.read(lambda reader: reader.explained_runs(KEY))]


def flap(store, times=50, **told):
    for number in range(times):
        explain(store, explained(f"flap-{number:02}", **told))


def test_a_fleet_that_flaps_pushes_out_nothing_but_its_own_runs(store):
    explain(store, explained("first"))
    explain(store, explained("failed", ended=RunEnd.FAILED))
    explain(store, explained("waited", ended=RunEnd.WAITS))
    explain(store, explained("second-version", version=1))
    flap(store, version=1)
    assert kept(store) == ["flap-49", "flap-48", "second-version", "waited", "failed", "first"]


def test_runs_that_wait_again_and_again_do_not_push_out_one_that_failed(store):
    explain(store, explained("first"))
    explain(store, explained("failed", ended=RunEnd.FAILED))
    flap(store, ended=RunEnd.WAITS)
    assert {"failed", "first", "flap-49"} < set(kept(store))
    assert len(kept(store)) == FEW.runs


def test_what_waits_now_stays_as_long_as_it_waits(store):
    maker, waits = make_evaluation(1), make_evaluation(2, status=EvalStatus.BLOCKED)
    waits = replace(waits, previous_eval=maker.id)
    narrow = ExplainedBounds(runs=3, size=10**6)

    def put(evaluation):
        store.write(
            WriteKind.EVALUATION_UPDATED, lambda change: put_found(change, evaluation), now=1
        )

    put(maker)
    put(waits)
    explain(store, explained("first"), bounds=narrow)
    explain(store, explained(maker.id, ended=RunEnd.WAITS), bounds=narrow)
    for number in range(9):
        explain(store, explained(f"other-{number}", ended=RunEnd.WAITS), bounds=narrow)
    assert kept(store) == ["other-8", maker.id, "first"]
    put(replace(waits, status=EvalStatus.COMPLETE))
    for number in range(9, 12):
        explain(store, explained(f"other-{number}", ended=RunEnd.WAITS), bounds=narrow)
    assert kept(store) == ["other-11", "other-10", "first"]


def test_they_stay_within_the_bytes_that_are_set(store):
    for number in range(9):
        explain(store, explained(f"run-{number}", size=250), bounds=ExplainedBounds(size=600))
    assert kept(store) == ["run-8", "run-0"]


def test_the_newest_run_stays_however_large_it_is(store):
    explain(store, explained("small"))
    explain(store, explained("large", size=10_000))
    assert kept(store) == ["large"]


def test_a_write_within_the_bounds_forgets_nothing(store):
    for number in range(FEW.runs):
        explain(store, explained(f"run-{number}"))
    assert len(kept(store)) == FEW.runs


RUNS = st.lists(
    st.tuples(st.integers(1, 400), st.integers(0, 3), st.sampled_from(RunEnd)), max_size=40
).map(
    lambda given: [
        ExplainedRun(f"e{place:02}", 100 - place, size, version, ended)
        for place, (size, version, ended) in enumerate(given)
    ]
)


@given(RUNS, st.sets(st.integers(0, 39)), st.integers(1, 12), st.integers(1, 3000))
def test_whatever_runs_there_are_the_bounds_hold_and_every_kind_is_there(
    runs, waiting, most, size
):
    still = {f"e{place:02}" for place in waiting}
    bounds = ExplainedBounds(runs=most, size=size)
    chosen = kept_runs(runs, still, bounds)
    by_id = {run.eval_id: run for run in runs}
    always = [run.eval_id for run in runs[:1]]
    always += [run.eval_id for run in runs if run.eval_id in still][:2]
    assert len(chosen) <= max(most, len(always))
    others = [eval_id for eval_id in chosen if eval_id not in always]
    assert not others or sum(by_id[eval_id].size for eval_id in chosen) <= size
    assert chosen == kept_runs(list(runs), set(still), bounds)
    assert set(runs[:1]) <= {by_id[eval_id] for eval_id in chosen}
    if size >= sum(run.size for run in runs) and most >= len(runs):
        assert sorted(chosen) == sorted(by_id)
    if size >= 3000 and most >= 12 and not still:
        kinds = {by_id[eval_id].ended for eval_id in chosen}
        assert kinds == {run.ended for run in runs}


def test_the_first_of_a_version_is_the_oldest_that_is_kept():
    runs = [
        ExplainedRun(f"e{index}", index, 1, version, RunEnd.PLACED)
        for index, version in ((9, 2), (8, 1), (7, 2), (6, 1), (5, 1))
    ]
    assert [run.eval_id for run in firsts_of_versions(runs)] == ["e7", "e5"]
    assert all(newer.index > older.index for newer, older in pairwise(runs))
