"""What a rehearsal found, in words: each sentence against the numbers it is made of."""

import pytest

from cluster.rehearsal.result import (
    RehearsalEnd,
    RehearsalTotals,
    Rehearsed,
    RehearsedAllocation,
    RehearsedGroup,
    RehearsedNode,
    RehearsedOutcome,
    RehearsedPace,
    WaitReason,
)
from cluster.rehearsal.scenario_form import read_scenario
from dashboard.rehearsed import allocation_lines, group_lines, notes, sentence
from dashboard.rehearsed_changes import change_told
from dashboard.rehearsed_paces import pace_sentence
from dashboard.wording import NONE

S = 1_000_000_000
SHORT = WaitReason(reason="memory", node_id="n", node_name="node-9", missing=256)


@pytest.mark.parametrize(
    ("totals", "strong", "tone"),
    [
        ({}, "Nothing needs a new place.", "complete"),
        (
            {"need_place": 1, "placed": 1},
            "The one that needs a place finds one.",
            "complete",
        ),
        ({"need_place": 3, "placed": 3}, "All 3 that need a place find one.", "complete"),
        (
            {"need_place": 5, "placed": 1, "waits": 3, "held": 1},
            "1 of 5 that need a place finds one. 3 would wait and 1 would be held up.",
            "blocked",
        ),
    ],
)
def test_the_sentence_says_what_the_totals_say(totals, strong, tone):
    told = sentence(Rehearsed(totals=RehearsalTotals(**totals)))
    assert (told.strong, told.tone) == (strong, tone)


def test_groups_that_end_below_their_count_are_named_worst_first():
    groups = tuple(
        RehearsedGroup(job_id=f"job-{n}", task_group="web", count=5, after=n) for n in range(5)
    )
    told = sentence(Rehearsed(totals=RehearsalTotals(end_below=5), groups=groups))
    assert told.rest == (
        "5 groups end below their count: job-0.web with 0 of 5, job-1.web with 1 of 5,"
        " job-2.web with 2 of 5 and 2 more."
    )


def test_a_group_that_waits_says_what_lacks_and_its_bar_is_open_to_the_end():
    group = RehearsedGroup(
        job_id="shop", task_group="web", count=4, before=4, lowest=2, after=3, waits=1, placed=1,
        max_parallel=2, waiting=SHORT,
    )  # fmt: skip
    moved = RehearsedAllocation(
        job_id="shop", task_group="web", asked_at=0, started_at=10 * S, stopped_at=20 * S
    )
    drained = (RehearsedNode(name="one", fate="drained"),)
    (line,) = group_lines(
        Rehearsed(lasts=100 * S, groups=(group,), allocations=(moved,), nodes=drained)
    )
    assert (line.why, line.lowest, line.end) == ("memory: short by 256 MiB on", "2 of 4", "3 of 4")
    assert (line.done, line.at_once) == ("1 wait", "drained 2 at once")
    assert line.bars == (("0.0%", "20.0%", False), ("20.0%", "80.0%", True))


def test_a_node_that_only_the_rehearsal_has_is_named_and_leads_nowhere():
    group = RehearsedGroup(job_id="shop", task_group="web", count=2, waits=1, waiting=SHORT)
    waits = RehearsedAllocation(outcome=RehearsedOutcome.WAITS, waiting=SHORT)
    result = Rehearsed(
        groups=(group,), allocations=(waits,), nodes=(RehearsedNode(id="n", fate="added"),)
    )
    for line in (*group_lines(result), *allocation_lines(result)):
        assert (line.why, line.why_node) == ("memory: short by 256 MiB on node-9", None)


def test_what_the_deadline_ends_has_waited_until_then():
    group = RehearsedGroup(
        job_id="shop", task_group="web", count=2, before=2, waits=1, waiting=SHORT
    )
    ended = RehearsedAllocation(
        job_id="shop", task_group="web", outcome=RehearsedOutcome.WAITS,
        asked_at=100 * S, stopped_at=100 * S,
    )  # fmt: skip
    (line,) = group_lines(Rehearsed(lasts=100 * S, groups=(group,), allocations=(ended,)))
    assert line.bars == (("0.0%", "100.0%", True),)


def test_what_is_no_drain_says_nothing_of_one_and_a_system_group_wants_no_number():
    group = RehearsedGroup(
        job_id="agent", task_group="each", before=19, lowest=18, after=18, max_parallel=1
    )
    moved = RehearsedAllocation(job_id="agent", task_group="each", asked_at=0, stopped_at=S)
    lost = (RehearsedNode(name="one", fate="lost"),)
    (line,) = group_lines(
        Rehearsed(lasts=10 * S, groups=(group,), allocations=(moved,), nodes=lost)
    )
    assert (line.lowest, line.end, line.at_once) == ("18", "18", "")


def test_an_allocation_tells_its_score_and_the_next_best_node():
    placed = RehearsedAllocation(
        to_node_name="b", score=0.914, next_node_name="c", next_score=0.9, started_at=3 * S
    )
    held = RehearsedAllocation(outcome=RehearsedOutcome.HELD)
    first, second = allocation_lines(Rehearsed(allocations=(placed, held)))
    assert (first.score, first.next_best, first.moved) == ("0.91", "c 0.90", "3.0 s")
    assert (second.score, second.moved) == (NONE, NONE)


def test_batch_work_that_a_drain_ends_says_why_nothing_takes_its_place():
    def ended(job_type, job_id, node):
        return RehearsedAllocation(
            id=f"{job_id}-{node}",
            job_type=job_type,
            job_id=job_id,
            from_node_id=node,
            outcome=RehearsedOutcome.STOPPED,
        )

    batch, system = ended("batch", "night", "a"), ended("system", "logs", "a")
    elsewhere, of_stopped = ended("batch", "night", "b"), ended("batch", "over", "a")
    result = Rehearsed(
        allocations=(batch, system, elsewhere, of_stopped),
        nodes=(RehearsedNode(id="a", fate="drained"),),
        groups=(RehearsedGroup(job_id="night", count=2), RehearsedGroup(job_id="over", count=0)),
    )
    assert [line.why for line in allocation_lines(result)] == [
        "the drain ends it; batch work is not begun anew elsewhere",
        "",
        "",
        "",
    ]


def test_the_pace_at_which_nobody_waits_is_named():
    paces = tuple(
        RehearsedPace(at_once=at_once, waits=waits, lasts=lasts * S)
        for at_once, waits, lasts in ((0, 4, 10), (4, 0, 30), (1, 0, 90))
    )
    some_wait = RehearsalTotals(need_place=9, placed=5, waits=4)
    assert pace_sentence(Rehearsed(totals=some_wait, paces=paces)) == (
        "With 4 at a time nobody waits."
    )
    assert pace_sentence(Rehearsed(paces=paces)) == ""
    assert pace_sentence(Rehearsed(totals=some_wait, paces=paces[:1])) == ""


def test_one_that_was_cut_short_says_so():
    result = Rehearsed(ending=RehearsalEnd.TIME)
    assert sentence(result).tone == "blocked"
    assert notes(result) == ["Stopped after its time; what is told holds up to there."]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            {"Drain": {"NodeIDs": ["a", "b"], "Spec": {"Deadline": -S}}},
            "Drain 2 nodes at once and by force",
        ),
        (
            {"Drain": {"NodeIDs": ["a"], "AtOnce": 1}},
            "Drain 1 node in steps of 1 without a deadline",
        ),
        (
            {"Lose": {"Filter": 'Datacenter == "a"', "Share": 20}},
            'Lose 20 % of nodes with Datacenter == "a"',
        ),
        (
            {"Eligibility": {"NodeIDs": ["a"], "Eligibility": "ineligible"}},
            "Set 1 node ineligible",
        ),
        ({"Purge": {"NodeIDs": ["a"]}}, "Purge 1 node"),
        ({"Add": {"Like": "x", "Count": 3}}, "Add 3 nodes like x"),
        ({"Stop": {"JobID": "j", "Purge": True}}, "Purge job j in default"),
        ({"Stop": {"JobID": "j"}}, "Stop job j in default"),
        ({"Scale": {"JobID": "j", "Group": "g", "Count": 7}}, "Scale j.g to 7"),
        (
            {"Settings": {"SchedulerAlgorithm": "spread"}},
            "Change the scheduler: use the algorithm spread",
        ),
        ({"Quota": {"Name": "q", "Limits": {"CPU": 500}}}, "Change quota q: CPU 500"),
    ],
)  # fmt: skip
def test_a_change_is_told_in_words(change, told):
    (only,) = read_scenario(change).changes
    assert change_told(only) == told
