"""`kill -9` between each two steps of a small job: the next processes bring it to the same end.

Everything that is not on disk is gone: the leader's memory, plans under way, answers. What lies in
Redis stays, and is from another epoch.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cluster.store.writer import DjangoStateStore
from scheduler.state.events import WriteKind
from scheduler.state.node_use import node_use_of
from scheduler.structs.evaluation import EvalStatus, Step
from scheduler.structs.identity import JobKey
from tests.builders import make_node
from tests.cluster.runtime.step_killer import STEPS
from tests.cluster.runtime.test_small_job_cost import CLOCK, Cluster
from tests.record_databases import database, sqlite_settings

ROOT = Path(__file__).resolve().parents[3]
JOB = JobKey("default", "job-1")


@pytest.fixture(scope="module")
def killer():
    command = [sys.executable, "-m", "tests.cluster.runtime.step_killer"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, text=True, **pipes) as process:
        yield process
        process.stdin.close()


@pytest.fixture
def store(sqlite_template, tmp_path, django_db_blocker):
    path = tmp_path / "state.sqlite3"
    shutil.copy(sqlite_template, path)

    def join(change):
        for number in range(3):
            change.put_node(make_node(number))

    with django_db_blocker.unblock(), database(sqlite_settings(path)) as alias:
        opened = DjangoStateStore(alias)
        opened.write(WriteKind.NODE_REGISTRATION, join, now=CLOCK.now())
        opened.path = path
        yield opened


def open_evaluations(store):
    return store.read(lambda reader: [item.id for item in reader.open_evaluations()])


def bring_to_its_end(store, redis_url):
    """A leader, a worker and an applier after those that were killed; how many plans they made."""
    cluster = Cluster(store, redis_url)
    try:
        cluster.ask_for_work()
        cluster.ask_for_plans()
        cluster.lead(2)
        if not open_evaluations(store):
            return 0
        cluster.decide()
        cluster.lead(1)
        cluster.apply()
        cluster.applier.flush()
        cluster.lead(2)
        cluster.finish()
        assert cluster.leader.stats().broker.total_unacked == 0
        return 1
    finally:
        cluster.close()


@pytest.mark.parametrize("step", STEPS)
def test_a_small_job_comes_to_the_same_end(step, killer, store, redis_url):
    killer.stdin.write(f"{step}\t{store.path}\t{redis_url}\n")
    killer.stdin.flush()
    answer = killer.stdout.readline().strip()
    # Whoever was told that it is registered finds it; before its commit nobody was.
    assert answer == ("unanswered" if step == STEPS[0] else "acknowledged")
    is_registered = store.read(lambda reader: reader.job(JOB)) is not None
    assert is_registered == (answer == "acknowledged")
    was_committed = STEPS.index(step) >= STEPS.index("the plan is committed")

    # Plan and end of the evaluation are one commit: both are there, or neither.
    assert bool(open_evaluations(store)) == (is_registered and not was_committed)
    assert len(store.read(lambda reader: reader.allocations_by_job(JOB))) == was_committed

    plans = bring_to_its_end(store, redis_url)

    assert plans == (is_registered and not was_committed)

    def check(reader):
        allocs = reader.allocations_by_job(JOB)
        evaluations = reader.evaluations_by_job(JOB)
        assert (len(allocs), len(evaluations)) == (is_registered, is_registered)
        for evaluation in evaluations:
            assert evaluation.status is EvalStatus.COMPLETE
            steps = [each.step for each in reader.lifecycle(evaluation.id)]
            assert steps.count(Step.COMPLETE) == 1
        for node in reader.nodes():
            held = reader.allocations_by_node(node.id)
            assert reader.node_use(node.id) == node_use_of(node.id, held)

    store.read(check)
