"""Puts core evaluations straight into the broker: by time, on demand, and to go on.

In: time, settings and what the record has in place of them, the operator's demand, and how runs
ended. Out: calls of the broker. They are never rows: a new leader begins its intervals anew, and
takes up a demand that nobody has met yet.
"""

from scheduler.broker.eval_broker import EvalBroker
from scheduler.errors import RequestRefused
from scheduler.messages import FinishRequest, FinishWrite, ReapRequest
from scheduler.ports import IDSource, StateReader
from scheduler.state.collection_noun import COLLECTIONS
from scheduler.state.events import EventFrame, WriteKind
from scheduler.structs.collection import (
    CORE_NAMESPACE,
    CORE_PRIORITY,
    CORE_TYPE,
    WITHOUT_WORK,
    CollectionOverrides,
    CollectionSettings,
    CoreJob,
    core_job_of,
)
from scheduler.structs.evaluation import EvalTrigger, Evaluation
from scheduler.structs.moment import Moment


class CoreTimers:
    """The timers of the core jobs. Without settings nothing runs by time."""

    def __init__(
        self, broker: EvalBroker, ids: IDSource, settings: CollectionSettings | None = None
    ) -> None:
        self._broker = broker
        self._ids = ids
        self._settings = settings
        self._intervals: dict[CoreJob, float] = {}
        self._due: dict[CoreJob, float] = {}
        self._is_demanded = False
        #: The newest evaluation of each core job.
        self._newest: dict[str, str] = {}

    def restore(self, reader: StateReader, moment: Moment) -> None:
        """Begin the first intervals, as they are set in the record or else by the settings."""
        self._intervals = self._intervals_with(reader.collection_overrides())
        self._due = {
            core_job: moment.monotonic + interval for core_job, interval in self._intervals.items()
        }
        self._newest = {}
        forced = reader.get(COLLECTIONS, CoreJob.FORCED)
        self._is_demanded = forced is not None and forced.is_awaited

    def observe(self, frame: EventFrame) -> None:
        """An operator's demand, and other intervals; nothing else matters."""
        self._is_demanded |= frame.kind == WriteKind.COLLECTION_DEMANDED
        for event in frame.events:
            if isinstance(event.value, CollectionOverrides):
                self._follow(self._intervals_with(event.value))

    def next_deadline(self) -> float | None:
        """When `tick` puts something in, on the monotonic clock; None while the broker is off."""
        if not self._broker.enabled:
            return None
        if self._is_demanded and not self._is_under_way(CoreJob.FORCED):
            return 0.0
        return min(self._due.values(), default=None)

    def tick(self, index: int, moment: Moment) -> None:
        """Put in what is due; a core job whose run is still under way waits for the next time."""
        if not self._broker.enabled:
            return
        if self._is_demanded and not self._is_under_way(CoreJob.FORCED):
            self._is_demanded = False
            self._put(CoreJob.FORCED, moment.now, index, moment)
        for core_job, due in self._due.items():
            if due <= moment.monotonic:
                self._due[core_job] = moment.monotonic + self._intervals[core_job]
                if not self._is_under_way(core_job):
                    self._put(core_job, moment.now, index, moment)

    def check_reap(self, request: ReapRequest) -> None:
        """Raises RequestRefused unless the evaluation, which is out, may ask for this."""
        delivered = self._broker.evaluation(request.eval_id)
        if delivered is None or delivered.type != CORE_TYPE:
            raise RequestRefused("only core evaluations delete what is over")

    def check_finish(self, request: FinishRequest) -> FinishWrite | None:
        """What the end of a core run writes; None for other evaluations. Raises RequestRefused."""
        delivered = self._broker.evaluation(request.eval_id)
        if delivered is None or delivered.type != CORE_TYPE:
            if request.goes_on:
                raise RequestRefused("only core evaluations go on")
            return None
        if request.update or request.created or request.reblocked:
            raise RequestRefused("core evaluations are not stored")
        core_job = core_job_of(delivered.job_id)
        if request.goes_on:
            if core_job_of(request.goes_on) != core_job:
                raise RequestRefused("a core evaluation goes on as itself")
            return FinishWrite()
        if core_job in WITHOUT_WORK:
            return FinishWrite()
        return FinishWrite(ended=(core_job, delivered.create_time))

    def go_on(self, delivered: Evaluation, job_id: str, index: int, moment: Moment) -> None:
        """Let a further evaluation do what one has left, as part of the same run."""
        self._put(job_id, delivered.create_time, index, moment)

    def _intervals_with(self, overrides: CollectionOverrides) -> dict[CoreJob, float]:
        return overrides.over(self._settings).intervals if self._settings else {}

    def _follow(self, intervals: dict[CoreJob, float]) -> None:
        """A new interval counts from when the one under way began; it may be over at once."""
        for core_job, due in self._due.items():
            self._due[core_job] = due - self._intervals[core_job] + intervals[core_job]
        self._intervals = intervals

    def _is_under_way(self, core_job: str) -> bool:
        eval_id = self._newest.get(core_job)
        return eval_id is not None and self._broker.place_of(eval_id) is not None

    def _put(self, job_id: str, began: int, index: int, moment: Moment) -> None:
        evaluation = Evaluation(
            id=self._ids.next_id(),
            namespace=CORE_NAMESPACE,
            priority=CORE_PRIORITY,
            type=CORE_TYPE,
            triggered_by=EvalTrigger.SCHEDULED,
            job_id=job_id,
            modify_index=index,
            create_time=began,
            modify_time=moment.now,
        )
        self._newest[core_job_of(job_id)] = evaluation.id
        self._broker.enqueue(evaluation, monotonic=moment.monotonic)
