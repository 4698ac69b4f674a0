"""How evaluations come in from the record, and leave when it says that they ended.

In: a reader at the start, then every frame of the event log. Out: calls of the broker and of the
tracker of blocked evaluations, and the steps they mean. Workers and plans are not known here.
"""

from collections.abc import Sequence

from scheduler.broker.blocked_evals import BlockedEvals, Released
from scheduler.broker.capacity import CapacityHooks
from scheduler.broker.eval_broker import EvalBroker
from scheduler.broker.lifecycle import Lifecycles
from scheduler.broker.worker_roll import WorkerRoll
from scheduler.errors import RequestRefused
from scheduler.ports import StateReader
from scheduler.state.events import EventFrame, StateEvent
from scheduler.structs.evaluation import EvalStatus, Evaluation, LifecycleStep, Step
from scheduler.structs.identity import JobKey
from scheduler.structs.moment import Moment
from scheduler.structs.scheduler_settings import SchedulerSettings


class Intake:
    """The door between the record and the queues."""

    def __init__(
        self, broker: EvalBroker, blocked: BlockedEvals, lives: Lifecycles, workers: WorkerRoll
    ) -> None:
        #: The broker was paused and is wanted again.
        self.wants_restore = False
        self._broker = broker
        self._blocked = blocked
        self._lives = lives
        self._workers = workers
        self._capacity = CapacityHooks(blocked)
        #: The newest write of any evaluation of a job, for jobs with work in the broker.
        self._job_index: dict[JobKey, int] = {}

    def restore(self, reader: StateReader, moment: Moment) -> None:
        """Forget everything; enqueue what is pending in the record, track what is blocked."""
        self.wants_restore = False
        self._capacity.restore(reader)
        self._switch(enabled=False)
        self._lives.clear()
        self._job_index.clear()
        if reader.scheduler_settings().pause_eval_broker:
            return
        self._switch(enabled=True)
        steps = reader.newest_steps()
        for evaluation in reader.open_evaluations():
            self._lives.begin(evaluation.id, steps.get(evaluation.id))
            # Whatever was written about the job before is in the record already.
            self._job_index[evaluation.job_key] = reader.index
            self._take_in(evaluation, moment)
        self.record_notes(moment)

    def recall(self, frames: Sequence[EventFrame] | None, moment: Moment) -> None:
        """Let those run again that waited for what was committed while nobody led; see Leader."""
        if frames is None:
            released = self._blocked.unblock_all("room may have appeared while nobody led")
        else:
            released = self._capacity.recall(frames, moment.monotonic)
        self.enqueue_released(released, moment)
        self.record_notes(moment)

    def _switch(self, *, enabled: bool) -> None:
        self._broker.set_enabled(enabled=enabled)
        self._blocked.set_enabled(enabled=enabled)

    def observe(self, frame: EventFrame, moment: Moment) -> None:
        """Take in one frame: who waited for the capacity it brings runs before who is new."""
        released = self._capacity.observe(frame, moment.monotonic)
        self.enqueue_released(released, moment)
        for event in frame.events:
            if isinstance(event.value, LifecycleStep) and not event.deleted:
                self._lives.adopt(event.value)
        for event in frame.events:
            if isinstance(event.value, Evaluation):
                self._observe_evaluation(frame, event, event.value, monotonic=moment.monotonic)
            elif isinstance(event.value, SchedulerSettings):
                self._observe_settings(event.value)
        self.record_notes(moment)

    def _observe_evaluation(
        self, frame: EventFrame, event: StateEvent, evaluation: Evaluation, *, monotonic: float
    ) -> None:
        if event.deleted:
            self._broker.drop_waiting(evaluation.id)
            self._blocked.remove(evaluation.id)
            self._lives.end(evaluation.id)
            return
        self._job_index[evaluation.job_key] = frame.index
        # Only its creation brings an evaluation in. A later write of an open one, such as a plan
        # commit that moves its index, may be observed after its run has ended.
        if evaluation.create_index == frame.index:
            self._begin(evaluation, frame.at)
            if not evaluation.is_terminal:
                self._take_in(evaluation, Moment(frame.at, monotonic))
        if evaluation.is_terminal:
            self._observe_end(evaluation, frame.at)

    def _begin(self, evaluation: Evaluation, at: int) -> None:
        self._lives.begin(evaluation.id)
        created_at = min(evaluation.create_time or at, at)
        reason = evaluation.triggered_by
        self._lives.note(evaluation.id, Step.CREATED, created_at, actor="state", reason=reason)

    def _observe_end(self, evaluation: Evaluation, at: int) -> None:
        self._broker.drop_waiting(evaluation.id)
        self._blocked.remove(evaluation.id)
        if evaluation.status is EvalStatus.COMPLETE and not evaluation.failed_task_groups:
            self._blocked.untrack(evaluation.job_key)
        self.note_end(evaluation, at, actor="state")
        self._lives.end(evaluation.id)

    def _observe_settings(self, stored: SchedulerSettings) -> None:
        if stored.pause_eval_broker:
            self.wants_restore = False
            self._switch(enabled=False)
        elif not self._broker.enabled:
            self.wants_restore = True

    def _take_in(self, evaluation: Evaluation, moment: Moment) -> None:
        if evaluation.should_enqueue:
            self._broker.enqueue(evaluation, monotonic=moment.monotonic)
        elif evaluation.should_block:
            self.block(evaluation, "", moment)

    def block(self, evaluation: Evaluation, token: str, moment: Moment) -> None:
        """Let an evaluation wait for capacity; with a token while it is still out."""
        if not self._blocked.enabled:
            return
        if self._lives.last_step(evaluation.id) is not Step.BLOCKED:
            self._lives.note(
                evaluation.id,
                Step.BLOCKED,
                moment.now,
                actor="leader",
                reason=evaluation.status_description,
            )
        released = self._blocked.block(evaluation, token)
        self.enqueue_released(released, moment)

    def check_reblocked(self, eval_id: str, reblocked: Evaluation) -> None:
        """Raises RequestRefused for one whose row says something else: it would get lost."""
        delivered = self._broker.evaluation(eval_id)
        if reblocked.id != eval_id or delivered is None:
            raise RequestRefused("evaluation does not exist")
        if not delivered.should_block:
            raise RequestRefused("evaluation not blocked")

    def enqueue_released(self, released: Sequence[Released], moment: Moment) -> None:
        """Let evaluations run again that found capacity."""
        for freed in released:
            self._lives.note(
                freed.evaluation.id,
                Step.UNBLOCKED,
                moment.now,
                actor="leader",
                reason=freed.reason,
                woken_by=freed.by,
            )
            self._broker.enqueue(freed.evaluation, monotonic=moment.monotonic, token=freed.token)

    def wait_index(self, evaluation: Evaluation) -> int:
        """The index a run of this evaluation must see (evaluations.md 7.2)."""
        return max(evaluation.modify_index, self._job_index.get(evaluation.job_key, 0))

    def prune(self) -> None:
        """Forget jobs without work in the broker."""
        held = self._broker.jobs()
        self._job_index = {key: i for key, i in self._job_index.items() if key in held}

    def record_notes(self, moment: Moment) -> None:
        """Turn what happened in the broker into steps."""
        for note in self._broker.take_notes():
            self._lives.note(
                note.eval_id, note.step, moment.now, actor="broker", reason=note.reason
            )
            if note.step is Step.NACKED:
                self._workers.returned(note.eval_id, moment.monotonic)

    def note_end(self, evaluation: Evaluation, now: int, *, actor: str) -> None:
        """An evaluation got its final status; told twice, it is one step."""
        if not evaluation.is_terminal:
            return
        step = Step(evaluation.status.value)
        if self._lives.last_step(evaluation.id) is not step:
            reason = evaluation.status_description
            self._lives.note(evaluation.id, step, now, actor=actor, reason=reason)
