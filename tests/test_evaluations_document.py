"""What the pages on evaluations and job files say: every status, trigger, bucket, type, driver.

Numbers are those of the settings, and links those of the scenarios that are drawn.
"""

from pathlib import Path

import pytest

from cluster.agent.drivers.docker.docker import DockerDriver
from cluster.agent.drivers.exec import ExecDriver
from cluster.agent.drivers.mock import MockDriver
from cluster.agent.drivers.raw_exec import RawExecDriver
from scheduler.broker.leader_settings import LeaderSettings
from scheduler.engine import generic, system
from scheduler.engine.rank.victim import PRIORITY_GAP
from scheduler.engine.reconcile.buckets import Buckets
from scheduler.structs.evaluation import EvalStatus, EvalTrigger
from scheduler.structs.job import JobType
from tests.played_drawings import CHAINS, played

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE = (DOCS / "evaluations.md").read_text()
#: Without the ends of lines.
PLAIN = " ".join(PAGE.split())


def first_cells(text: str, heading: str) -> list[list[str]]:
    """Rows of the table that begins with this head, cell by cell."""
    _, found, rest = text.partition(f"| {heading} |")
    assert found, heading
    rows = rest.split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def test_every_status_trigger_bucket_type_and_driver_has_a_row():
    jobs = (DOCS / "jobs.md").read_text()
    drivers = (ExecDriver, RawExecDriver, DockerDriver, MockDriver(lambda: 0))

    def first(text, heading):
        return {row[0].strip("`*") for row in first_cells(text, heading)}

    assert first(PAGE, "status") == {each.value for each in EvalStatus}
    assert first(PAGE, "trigger") == {each.value for each in EvalTrigger}
    assert first(PAGE, "bucket") == set(Buckets.__struct_fields__)
    assert first(PAGE, "step") == {"delayed", "scheduling", "applying", "deleted"}
    assert first(jobs, "type") == {each.value for each in JobType}
    assert first(jobs, "driver") == {each.name for each in drivers}


def test_the_numbers_are_those_of_the_leader_and_the_engine():
    used = LeaderSettings()
    assert (generic._SERVICE_ATTEMPTS, system._SYSTEM_ATTEMPTS) == (5, 5)
    assert (generic._BATCH_ATTEMPTS, system._SYSBATCH_ATTEMPTS) == (2, 2)
    assert "five times in a row without any progress for a service or system job, twice" in PLAIN
    assert used.unblock_failed_interval == 60
    assert "which is tried again each minute" in PLAIN
    assert used.lost_worker_after == 5
    assert "says nothing for 5 seconds is lost" in PLAIN
    assert used.nack_timeout == 60
    assert "not answered within 60 seconds" in PLAIN
    assert (used.nack_first_delay, used.nack_later_delay, used.delivery_limit) == (1, 20, 3)
    assert "after 1 second, then after 20. After the third the evaluation is failed" in PLAIN
    assert (used.follow_up_baseline, used.follow_up_range) == (60, 300)
    assert "between one and six minutes later" in PLAIN
    assert PRIORITY_GAP == 10
    assert "of a priority lower by 10 at least" in PLAIN


#: What a chain links, as the page's table has it: trigger, and how the old one names the new.
LINKS = {
    ("drain-no-capacity", "queued-allocs"): "blocked_eval",
    ("plan-rejected", "max-plan-attempts"): "blocked_eval",
    ("disconnect-lost", "alloc-reschedule"): "next_eval",
    ("failed-follow-up", "failed-follow-up"): "next_eval",
}


@pytest.mark.parametrize(("scenario", "trigger"), LINKS)
def test_a_chain_is_linked_as_the_table_says(scenario, trigger):
    assert scenario in {name for name, _ in CHAINS.values()}
    play = played(scenario)
    new = play.evaluation(EvalTrigger(trigger))
    old = play.record.evaluation(new.previous_eval)
    assert getattr(old, LINKS[scenario, trigger]) == new.id


@pytest.mark.parametrize(
    ("scenario", "trigger"),
    [("preempt-by-system", "preemption"), ("seed-canary", "deployment-watcher")],
)
def test_what_is_left_unlinked_has_a_cause(scenario, trigger):
    new = played(scenario).evaluation(EvalTrigger(trigger))
    assert (new.previous_eval, bool(new.cause)) == ("", True)
    assert [
        each
        for each in played(scenario).record.evaluations()
        if new.id in (each.next_eval, each.blocked_eval)
    ] == []


def test_of_two_for_later_the_last_is_named():
    play = played("disconnect-lost")
    old = play.evaluation(EvalTrigger.NODE_UPDATE)
    first = play.evaluation(EvalTrigger.MAX_DISCONNECT_TIMEOUT)
    last = play.evaluation(EvalTrigger.ALLOC_RESCHEDULE)
    assert {first.previous_eval, last.previous_eval} == {old.id}
    assert old.next_eval == last.id
