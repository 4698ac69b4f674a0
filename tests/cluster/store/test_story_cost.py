"""What stories cost small work: a row and a count in a transaction that is there anyway."""

from django.db import connections

from cluster.operations.jobs import JobRegistration, register_job
from cluster.runtime.clock import RandomIDs
from scheduler.state.events import WriteKind
from scheduler.state.writes.evaluations import write_evaluations
from scheduler.structs.evaluation import EvalStatus
from tests.builders import SOME_MOMENT, make_evaluation, make_job
from tests.callers import MANAGER
from tests.cluster.store.test_query_plans import statements_of


def about_stories(found):
    return sorted(sql.partition("(")[0].strip() for sql, _ in found if "story" in sql.lower())


def test_a_registered_job_is_one_row_more_and_nothing_is_read_for_it(sqlite_store):
    request = JobRegistration(job=make_job())
    with statements_of(connections[sqlite_store.alias]) as found:
        register_job(sqlite_store, request, by=MANAGER, now=SOME_MOMENT, ids=RandomIDs())
    # The evaluation names it in a column of its own.
    assert about_stories(found) == ["INSERT INTO evaluation", "INSERT INTO story"]
    assert len(found) <= 25


def test_what_follows_an_evaluation_costs_nothing_more(sqlite_store):
    how = {"by": MANAGER, "now": SOME_MOMENT, "ids": RandomIDs()}
    register_job(sqlite_store, JobRegistration(job=make_job()), **how)
    (first,) = sqlite_store.read(lambda reader: reader.evaluations())
    done = first.changed(status=EvalStatus.COMPLETE)
    waiting = make_evaluation(7, previous_eval=first.id, status=EvalStatus.BLOCKED)
    with statements_of(connections[sqlite_store.alias]) as found:
        sqlite_store.write(
            WriteKind.EVALUATION_UPDATED,
            lambda change: write_evaluations(change, (done, waiting)),
            now=SOME_MOMENT,
        )
    assert about_stories(found) == ["INSERT INTO evaluation"]
    child = sqlite_store.read(lambda reader: reader.evaluation(waiting.id))
    assert child.story_id == first.story_id != ""
