"""What an open *Now* counts is what the record has, whatever was written, hinted or missed.

Random lives of evaluations as the law of their statuses allows them, several changes to a write;
their steps are told ahead of the record, late, or by a leader that dies before it records them.
"""

from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.hinted_steps import HINTS_HOLD
from dashboard.overview import Overview
from scheduler.state.events import WriteKind
from scheduler.state.nouns import LIFECYCLE_STEPS
from scheduler.structs import transitions
from scheduler.structs.evaluation import Evaluation, LifecycleStep, Step
from tests.builders import SOME_MOMENT
from tests.memory_record import MemoryRecord

LAW = transitions.EVALUATION
ON_THE_WAY = (Step.ENQUEUED, Step.DEQUEUED, Step.PLAN_SUBMITTED, Step.PLAN_ANSWERED)
WRITES, AT_ONCE = 60, 4


class Lives:
    """A record with evaluations in it, and what a leader says of them."""

    def __init__(self, chance):
        self.random = chance
        self.record = MemoryRecord()
        #: The number of the newest step that the leader has given, by evaluation.
        self.numbers = {}
        self.ids = []

    def hint(self):
        """Steps of one evaluation that stand in no record yet."""
        if not self.ids:
            return []
        return [self._step(self.random.choice(self.ids), self.random.choice(ON_THE_WAY))]

    def write(self, unwritten):
        """One write of a few changes, and the steps that the leader had given before."""
        before = self.record.index

        def work(change):
            for _ in range(self.random.randint(1, AT_ONCE)):
                self._change(change)
            for step in unwritten:
                change.put(LIFECYCLE_STEPS, step)

        self.record.write(WriteKind.EVALUATION_UPDATED, work, now=SOME_MOMENT)
        return self.record.frames_since(before)

    def _change(self, change):
        item = change.evaluation(self.random.choice(self.ids)) if self.ids else None
        if item is None or self.random.random() < 0.3:
            self._begin(change)
        elif item.is_terminal and item.modify_index < change.index and self._seldom():
            change.delete_evaluation(item.id)
        else:
            follows = sorted(LAW.follows[item.status]) or [item.status]
            self._end(change, item, self.random.choice(follows))

    def _seldom(self):
        return self.random.random() < 0.2

    def _begin(self, change):
        self.ids.append(f"e{len(self.ids)}")
        status = self.random.choice(sorted(LAW.births))
        change.put_evaluation(
            Evaluation(
                id=self.ids[-1], job_id="web", status=status, create_index=change.index,
                modify_index=change.index,
            )
        )  # fmt: skip
        change.put(LIFECYCLE_STEPS, self._step(self.ids[-1], Step.CREATED))

    def _end(self, change, item, status):
        change.put_evaluation(item.changed(status=status, modify_index=change.index))
        change.put(LIFECYCLE_STEPS, self._step(item.id, Step(status.value)))

    def _step(self, eval_id, step):
        self.numbers[eval_id] = self.numbers.get(eval_id, 0) + 1
        return LifecycleStep(
            eval_id=eval_id, number=self.numbers[eval_id], step=step, at=SOME_MOMENT
        )

    def rest(self):
        """What is blocked and was looked at in vain waits again, as its newest step says."""
        before = self.record.index
        blocked = [
            item
            for item in self.record.read(lambda reader: reader.open_evaluations())
            if item.should_block
        ]

        def work(change):
            for item in blocked:
                change.put(LIFECYCLE_STEPS, self._step(item.id, Step.BLOCKED))

        self.record.write(WriteKind.LIFECYCLE_RECORDED, work, now=SOME_MOMENT)
        return self.record.frames_since(before)

    def restart(self):
        """Another leader numbers on from what is recorded."""
        newest = self.record.read(lambda reader: reader.newest_steps_of(self.ids))
        self.numbers = {eval_id: step.number for eval_id, step in newest.items()}


@settings(max_examples=15, deadline=None)
@given(chance=st.randoms(use_true_random=True))
def test_an_open_page_counts_what_a_fresh_one_counts(chance):
    lives = Lives(chance)
    lives.write(())
    kept = Overview(None)
    lives.record.read(kept.load)
    unwritten, later = [], SOME_MOMENT + HINTS_HOLD + 1
    for _ in range(WRITES):
        chance = lives.random.random()
        if chance < 0.1:
            # The leader dies: what it hinted is in no record and never will be.
            unwritten = []
            lives.restart()
        hints = lives.hint()
        for step in hints:
            kept.take_hint(step)
        unwritten += hints
        for frame in lives.write(unwritten if chance < 0.8 else ()):
            follow(kept, frame)
        unwritten = [] if chance < 0.8 else unwritten
        if lives._seldom():
            unwritten = []
            check(lives, kept, later)


def follow(kept, frame):
    for event in frame.events:
        kept.take(event, frame.index)


def check(lives, kept, now):
    """All that was hinted was recorded by now, or never will be."""
    lives.restart()
    for frame in lives.rest():
        follow(kept, frame)
    kept.hints.doubt(now)
    lives.record.read(kept.read_missing)
    afresh = Overview(None)
    lives.record.read(afresh.load)
    assert kept.counts() == afresh.counts()
    assert not kept.misses_something
