"""Sentences of stories against the facts they are made from."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.labels import LABELS
from dashboard.stories.told import CrashFacts, RolloutFacts, StoryFacts, outcome_of, standing_of
from dashboard.wording import number

COUNTS = st.integers(0, 3000)
DONE = st.dictionaries(
    st.sampled_from(["placed", "replaced", "moved", "stopped"]), st.integers(1, 3000), max_size=3
)
ROLLOUTS = st.builds(
    RolloutFacts,
    status=st.sampled_from(["running", "paused", "failed", "successful", "cancelled"]),
    version=st.integers(0, 40),
    wanted=st.integers(1, 3000),
    healthy=COUNTS,
    canaries_waiting=st.integers(0, 5),
    unhealthy=COUNTS,
    batch=st.integers(0, 5),
    batches=st.integers(0, 5),
    went_back=st.booleans(),
)
FACTS = st.builds(
    StoryFacts,
    evaluations=COUNTS,
    running=COUNTS,
    blocked=COUNTS,
    failed=COUNTS,
    done=DONE,
    is_read=st.booleans(),
    waiting=COUNTS,
    lacking=st.sampled_from(["", "memory", "CPU"]),
    jobs=COUNTS,
    rollout=st.none() | ROLLOUTS,
    draining=COUNTS,
    nodes=COUNTS,
    collected=COUNTS,
    is_drain=st.booleans(),
    is_act=st.booleans(),
    placed=st.dictionaries(
        st.sampled_from(["running", "pending", "complete", "failed", "lost", "stopped"]),
        st.integers(1, 3000), max_size=3,
    ),
    left=COUNTS,
)  # fmt: skip


def numbers_in(text):
    return set(re.findall(r"(?<![\w:])v?\d[\d\u202f]*", text))


@settings(max_examples=300, deadline=None)
@given(FACTS)
def test_every_number_of_the_sentence_is_one_of_the_facts(facts):
    told = outcome_of(facts)
    known = {number(value) for value in (
        facts.evaluations, facts.running, facts.blocked, facts.failed, facts.waiting, facts.jobs,
        facts.draining, facts.nodes, facts.collected, *facts.done.values(),
        *facts.placed.values(), facts.left,
    )}  # fmt: skip
    if facts.rollout is not None:
        rollout = facts.rollout
        known |= {number(value) for value in (
            rollout.wanted, rollout.healthy, rollout.canaries_waiting, rollout.batch,
            rollout.batches, rollout.unhealthy,
        )}  # fmt: skip
        known.add(f"v{rollout.version}")
    assert numbers_in(f"{told.strong} {told.rest}") <= known
    assert told.strong.endswith(".")
    assert told.strong[0].isupper() or told.strong[0].isdigit()


@settings(max_examples=300, deadline=None)
@given(FACTS)
def test_what_waits_is_never_hidden_and_what_is_open_never_called_done(facts):
    standing = standing_of(facts)
    assert standing in LABELS["story"]
    if facts.is_open:
        assert standing not in ("done", "quiet")
    told = outcome_of(facts)
    if facts.blocked and facts.rollout is None and facts.evaluations:
        assert "wait" in told.strong
    if facts.is_open:
        assert "was over" not in told.rest


def test_a_rollout_is_told_by_its_version_and_what_keeps_it():
    rollout = RolloutFacts(status="running", version=2, wanted=100, healthy=62, batch=3, batches=5)
    facts = StoryFacts(
        evaluations=26, blocked=1, waiting=3, lacking="memory", rollout=rollout, jobs=1
    )
    assert (
        outcome_of(facts).strong
        == "Held up at batch 3 of 5: 62 of 100 run v2 and 3 wait for memory."
    )
    assert standing_of(facts) == "held-up"


def test_a_story_that_needed_nothing_says_so():
    assert outcome_of(StoryFacts()).strong == "No evaluation was needed."
    # A drain has begun, and what it moves waits for its turn.
    begun = StoryFacts(draining=1)
    assert outcome_of(begun).strong == "No evaluation has been needed yet."
    begun = StoryFacts(draining=1, left=3)
    assert outcome_of(begun).strong == "3 are still to move."
    assert outcome_of(StoryFacts(evaluations=1, is_read=True)).strong == "Nothing had to change."
    assert outcome_of(StoryFacts(evaluations=1)).strong == "Its evaluation has ended."
    three = StoryFacts(evaluations=3)
    assert outcome_of(three).strong == "All 3 evaluations have ended."
    some = StoryFacts(evaluations=3, collected=1)
    assert outcome_of(some).strong == "1 of 3 evaluations were collected."


def test_a_row_says_how_what_was_placed_fares():
    lost = StoryFacts(evaluations=5, placed={"running": 4, "pending": 1, "stopped": 2})
    assert outcome_of(lost).strong == "4 placed and running and 1 placed and about to start."
    drain = StoryFacts(
        evaluations=2, placed={"running": 84}, left=36, blocked=1, waiting=2, lacking="memory"
    )
    assert (
        outcome_of(drain).strong
        == "84 placed and running, 36 are still to move and 2 wait for memory."
    )
    launch = StoryFacts(evaluations=1, placed={"complete": 1})
    assert outcome_of(launch).strong == "1 placed and finished."


def test_a_rollout_that_gets_nowhere_says_how_often():
    rollout = RolloutFacts(status="running", version=0, wanted=1, healthy=0, unhealthy=26)
    told = outcome_of(StoryFacts(evaluations=83, rollout=rollout))
    assert told.strong == "0 of 1 run v0 and 26 did not become healthy."


def test_what_needs_no_evaluation_is_done_once_it_was_asked_for():
    assert standing_of(StoryFacts(is_act=True)) == "done"
    assert standing_of(StoryFacts()) == "quiet"


def test_a_rollout_whose_version_before_runs_again_is_not_called_done():
    back = RolloutFacts(status="successful", version=2, wanted=6, healthy=6, is_return=True)
    facts = StoryFacts(evaluations=5, rollout=back)
    assert standing_of(facts) == "went-back"
    assert outcome_of(facts).strong == "Failed and went back: 6 of 6 run v2."


def test_a_crash_loop_is_told_by_how_often_it_failed_and_what_comes():
    again = CrashFacts(failed=6, last="exit code 137", next_at=1_750_000_000 * 10**9)
    told = outcome_of(StoryFacts(evaluations=13, crash=again))
    assert told.strong == "Failed 6 times, last with exit code 137."
    assert told.rest == "It is tried again at 15:06:40."
    given_up = StoryFacts(evaluations=2, crash=CrashFacts(failed=1))
    assert standing_of(given_up) == "failed"
    over = outcome_of(given_up)
    assert (over.strong, over.rest) == ("Failed 1 time.", "No further try is under way.")
    up = StoryFacts(evaluations=2, crash=CrashFacts(failed=1, runs=True))
    assert standing_of(up) == "done"
    runs = outcome_of(up)
    assert runs.rest == "The newest one runs."
    starts = outcome_of(StoryFacts(evaluations=2, crash=CrashFacts(failed=1, starts=True)))
    assert starts.rest == "A new one is to be started."


def test_a_row_of_a_crash_loop_that_gave_up_is_not_called_done():
    placed = {"failed": 1, "stopped": 2}
    assert standing_of(StoryFacts(evaluations=3, placed=placed, is_crash_loop=True)) == "failed"
    assert standing_of(StoryFacts(evaluations=3, placed=placed)) == "done"
    runs = StoryFacts(evaluations=3, placed=placed | {"running": 1}, is_crash_loop=True)
    assert standing_of(runs) == "done"


def test_what_was_collected_is_said_where_the_rest_is_counted():
    facts = StoryFacts(evaluations=9, collected=4, done={"moved": 5})
    assert outcome_of(facts).strong == "5 moved."
    assert outcome_of(facts).rest == (
        "What 4 of 9 evaluations did is not counted: they were collected."
    )
