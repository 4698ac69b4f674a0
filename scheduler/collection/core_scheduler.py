"""Run one core evaluation: look, ask for what was found to be deleted, and look on.

In: a reader that stands still, settings, time. Out: `Reap`s, one after the other, and in the end
the JobID under which the rest is to be done by a further evaluation, so that no run takes long.
"""

from collections.abc import Generator
from typing import NamedTuple

from scheduler.collection.looks import STAGES, Look
from scheduler.collection.reaps import parts
from scheduler.errors import SchedulerError
from scheduler.messages import Reap, Reaped
from scheduler.ports import StateReader
from scheduler.structs.collection import (
    FORCED_ORDER,
    WITHOUT_WORK,
    CollectionSettings,
    CoreJob,
    cutoffs,
    forced_cutoffs,
)
from scheduler.structs.evaluation import Evaluation

#: After so many looks, or so many rows asked for, a run leaves the rest to the next.
LOOKS_IN_ONE_RUN = 8
ROWS_IN_ONE_RUN = 2048

#: What a run yields, what it is sent, and the JobID with which it is to go on, "" for the end.
CoreRun = Generator[Reap, Reaped, str]


class UnknownCoreJob(SchedulerError):
    """No core job has this name."""


class CoreScheduler:
    """The scheduler of `_core` evaluations (control-plane.md 4)."""

    def __init__(self, reader: StateReader, settings: CollectionSettings, now: int) -> None:
        self._reader = reader
        self._settings = settings
        self._now = now

    def process(self, evaluation: Evaluation) -> CoreRun:
        """Yield each reap and take its answer; what an answer raises ends the run there.

        Raises UnknownCoreJob.
        """
        place = _Place.of(evaluation.job_id)
        is_forced = place.core_job == CoreJob.FORCED
        old = forced_cutoffs(self._now) if is_forced else cutoffs(self._settings, self._now)
        looks, rows, has_deleted = LOOKS_IN_ONE_RUN, ROWS_IN_ONE_RUN, False
        while True:
            stage = STAGES.get(place.stage)
            look = Look() if stage is None else stage.look(self._reader, place.after, old)
            asked = Reap(
                core_job=place.core_job,
                started_at=evaluation.create_time,
                cutoffs=old,
                with_jobs=stage is not None and stage.with_jobs,
            )
            gone = 0
            for part in parts(look, asked):
                reaped = yield part
                gone += reaped.count
            onwards = place.behind(look, has_moved=gone > 0)
            if onwards is None:
                return ""
            looks, rows = looks - (stage is not None), rows - look.row_count
            # What has gone is still in sight of this run, and not of the next: the same job is
            # looked at again by that one, and so is what a stage before has left.
            has_deleted |= gone > 0
            is_blind = look.instead is not None or (has_deleted and onwards.stage != place.stage)
            place = onwards
            if is_blind or looks <= 0 or rows <= 0:
                return place.job_id


class _Place(NamedTuple):
    """How far a run has come."""

    core_job: str
    #: The core job whose work it does: of a forced one, one after the other.
    stage: str
    #: As looks tell it; "" at the beginning.
    after: str = ""

    @classmethod
    def of(cls, job_id: str) -> "_Place":
        """Read a JobID. Raises UnknownCoreJob."""
        core_job, _, rest = job_id.partition(":")
        stage, after = core_job, rest
        if core_job == CoreJob.FORCED:
            stage, _, after = rest.partition(":")
            stage = stage or FORCED_ORDER[0]
        is_known = stage in STAGES or stage in WITHOUT_WORK
        if not is_known or (core_job == CoreJob.FORCED and stage not in FORCED_ORDER):
            raise UnknownCoreJob(f"core scheduler cannot handle job '{job_id}'")
        return cls(core_job, stage, after)

    @property
    def job_id(self) -> str:
        """The JobID of an evaluation that goes on here."""
        words = (self.core_job, self.stage, self.after)
        return ":".join(words if self.core_job == CoreJob.FORCED else words[::2])

    def behind(self, look: Look, *, has_moved: bool) -> "_Place | None":
        """Where to go on after a look; None when everything was looked at."""
        if look.instead is not None:
            # A job of which nothing goes, though it could, must not be looked at for ever.
            return self._replace(after=look.reached if has_moved else look.instead)
        if look.reached:
            return self._replace(after=look.reached)
        if self.core_job != CoreJob.FORCED:
            return None
        later = FORCED_ORDER[FORCED_ORDER.index(CoreJob(self.stage)) + 1 :]
        return self._replace(stage=later[0].value, after="") if later else None
