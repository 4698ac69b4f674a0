"""Say when launches of periodic jobs are due.

In: the log, the record, time, and from outside the times of a schedule. Out: `LaunchPeriodic` per
job that is due. What is launched then, or skipped, is not decided here (control-plane.md 12).
"""

from collections.abc import Callable, Sequence

from scheduler.broker.delay_heap import DelayHeap
from scheduler.commands import Command, LaunchPeriodic
from scheduler.ports import StateReader
from scheduler.state.events import EventFrame, Topic
from scheduler.state.periodic_noun import PERIODIC_LAUNCHES
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job
from scheduler.structs.moment import Moment
from scheduler.structs.periodic_launch import PeriodicLaunch, is_credible

SECOND = 1_000_000_000
#: A launch that is not written down as decided is reported again after this long, ns.
REPORT_AGAIN = 5 * SECOND
#: Launches reported in one tick: each is a write, and the leader has more to do.
AT_ONCE = 20

#: The first time after an instant, in ns, at which a job is due; None when there is none.
NextDue = Callable[[Job, int], int | None]


class Launches:
    """All jobs that launch children by time, each due at one instant of the wall clock.

    The clock may jump: how far a job's launches are decided stands in the record, and each next
    one is the first after that.
    """

    def __init__(self, next_due: NextDue) -> None:
        self._next_due = next_due
        self._jobs: dict[JobKey, Job] = {}
        self._decided_to: dict[JobKey, int] = {}
        self._due = DelayHeap()
        #: By the name that the heap knows them by.
        self._keys: dict[str, JobKey] = {}
        #: Those that were due before this leadership began.
        self._backlog: set[JobKey] = set()

    def restore(self, reader: StateReader, moment: Moment) -> None:
        """Find all of them; of what was due meanwhile one launch is to be made."""
        for known in (self._jobs, self._decided_to, self._keys, self._backlog):
            known.clear()
        self._due.clear()
        for launches in reader.list_all(PERIODIC_LAUNCHES):
            job = reader.job(launches.key)
            if job is not None:
                self._decided_to[launches.key] = launches.decided_to
                self._follow(job)
                self._reckon(launches.key, moment)
        self._backlog = {self._keys[name] for name in self._due.pop_due(moment.now)}
        for key in self._backlog:
            self._due.push(_name(key), moment.now)

    def observe(self, frame: EventFrame, moment: Moment) -> None:
        """Jobs come, change and go; launches are decided."""
        touched: dict[JobKey, None] = {}
        for event in frame.events:
            value = event.value
            if isinstance(value, PeriodicLaunch) and not event.deleted:
                key = value.key
                if self._decided_to.get(key) != value.decided_to:
                    # A launch by hand decides nothing.
                    self._backlog.discard(key)
                self._decided_to[key] = value.decided_to
            elif isinstance(value, Job) and event.topic == Topic.JOB:
                key = value.key
                if event.deleted:
                    self._forget(key)
                elif key in self._jobs or value.is_periodic:
                    self._follow(value)
            else:
                continue
            touched[key] = None
        for key in touched:
            self._reckon(key, moment)

    def next_deadline(self, moment: Moment) -> float | None:
        """When the next one is due, should the clock not jump."""
        due = self._due.next_due()
        return None if due is None else moment.monotonic + max(0, due - moment.now) / SECOND

    def tick(self, reader: StateReader, moment: Moment) -> Sequence[Command]:
        """Report some of those that are due, the oldest first."""
        commands: list[Command] = []
        while len(commands) < AT_ONCE:
            due = self._due.next_due()
            if due is None or due > moment.now:
                break
            names = self._due.pop_due(due)
            for name in names[AT_ONCE - len(commands) :]:
                self._due.push(name, due)
            for name in names[: AT_ONCE - len(commands)]:
                key = self._keys[name]
                commands.append(LaunchPeriodic(key=key, catches_up=key in self._backlog))
                self._due.push(name, moment.now + REPORT_AGAIN)
        return commands

    def _follow(self, job: Job) -> None:
        if job.launches_by_time:
            self._jobs[job.key] = job
            self._keys[_name(job.key)] = job.key
        else:
            self._forget(job.key)

    def _forget(self, key: JobKey) -> None:
        self._jobs.pop(key, None)
        self._decided_to.pop(key, None)
        self._keys.pop(_name(key), None)
        self._backlog.discard(key)
        self._due.remove(_name(key))

    def _reckon(self, key: JobKey, moment: Moment) -> None:
        """When the job is due next, by what is decided."""
        job = self._jobs.get(key)
        if job is None:
            return
        decided_to = self._decided_to.get(key, 0)
        # Whoever performs the command begins from now with what is not followed.
        is_followed = is_credible(decided_to, moment.now)
        due = self._next_due(job, decided_to) if is_followed else moment.now
        if due is None:
            self._due.remove(_name(key))
        else:
            self._due.push(_name(key), due)


def _name(key: JobKey) -> str:
    return f"{key.namespace}/{key.job_id}"
