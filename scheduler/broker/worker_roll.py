"""Which worker processes live, what each holds, and how many should be woken.

In: signs of life and deliveries. Out: deliveries of lost processes, and a number of wake-ups. What
a wake-up is, or where a process runs, is not known here.
"""

from collections.abc import Iterable

import msgspec

from scheduler.broker.leader_settings import LeaderSettings
from scheduler.broker.sliding_counts import SlidingCounts
from scheduler.broker.worker_told import HeldFor, WorkerTold
from scheduler.structs.counted import HELD, MINUTE, PLANS


class HeldDelivery(msgspec.Struct):
    """A delivery in the hands of a process."""

    eval_id: str
    token: str
    #: The process has started to schedule it.
    begun: bool = False
    since: float = 0.0
    #: Its plan is out, or it makes none.
    is_made: bool = False


class WorkerProcess(msgspec.Struct):
    """What is known of one process; times are monotonic seconds."""

    heard_at: float
    asked_at: float = float("-inf")
    held: dict[str, HeldDelivery] = {}
    #: Up to when the time in which it held work is counted.
    counted_at: float = 0.0
    lately: SlidingCounts = msgspec.field(default_factory=lambda: SlidingCounts(MINUTE))

    def count(self, monotonic: float) -> None:
        """Count the time since it was last counted, if it held work in it."""
        if self.held:
            self.lately.add(HELD, max(monotonic - self.counted_at, 0.0))
        self.counted_at = monotonic


class WorkerRoll:
    """The roll of worker processes."""

    def __init__(self, settings: LeaderSettings) -> None:
        self._settings = settings
        self._processes: dict[str, WorkerProcess] = {}
        #: When processes were woken of which none has asked since, oldest first. Whose wake-up one
        #: is nobody can say: whichever process sleeps takes the first it finds.
        self._wakes: list[float] = []

    def heard(self, process: str, monotonic: float) -> None:
        """Any message counts as a sign of life."""
        known = self._processes.get(process)
        if known is None:
            known = self._processes[process] = WorkerProcess(heard_at=monotonic)
            known.lately.mark(monotonic)
        else:
            known.heard_at = monotonic

    def begun(self, process: str, eval_ids: Iterable[str]) -> None:
        """The process works on these; losing it counts as a failed delivery of them."""
        held = self._processes[process].held
        for eval_id in eval_ids:
            if eval_id in held:
                held[eval_id].begun = True

    def deliver(
        self, process: str, eval_id: str, token: str, monotonic: float, *, plans: bool = True
    ) -> None:
        """The process holds this delivery from now on; its run makes plans or not."""
        known = self._processes[process]
        known.count(monotonic)
        known.held[eval_id] = HeldDelivery(eval_id, token, since=monotonic, is_made=not plans)

    def submitted(self, process: str, eval_id: str) -> None:
        """The process has said what it takes for this one."""
        known = self._processes[process]
        known.lately.add(PLANS)
        held = known.held.get(eval_id)
        if held is not None:
            held.is_made = True

    def refused(self, process: str, eval_id: str) -> None:
        """It has to think about this one again."""
        known = self._processes.get(process)
        if known is not None and eval_id in known.held:
            known.held[eval_id].is_made = False

    def others_think(self, process: str, monotonic: float) -> bool:
        """Whether another process is making a plan, and has not been for long."""
        since = monotonic - self._settings.longest_turn
        return any(
            not held.is_made and held.since > since
            for name, known in self._processes.items()
            if name != process
            for held in known.held.values()
        )

    def asked(self, process: str, monotonic: float) -> None:
        """The process asked for work: it is awake."""
        known = self._processes[process]
        if self._wakes and self._sleeps(known, monotonic):
            del self._wakes[0]
        known.asked_at = monotonic

    def sent_away(self, process: str) -> None:
        """The process was told that there is nothing: it sleeps, however lately it asked."""
        known = self._processes.get(process)
        if known is not None:
            known.asked_at = float("-inf")

    def returned(self, eval_id: str, monotonic: float) -> None:
        """Nobody holds the evaluation any more."""
        for process in self._processes.values():
            if eval_id in process.held:
                process.count(monotonic)
                del process.held[eval_id]

    def forget_deliveries(self, monotonic: float) -> None:
        """All deliveries became void."""
        for process in self._processes.values():
            process.count(monotonic)
            process.held.clear()

    def take_lost(self, monotonic: float) -> list[HeldDelivery]:
        """Strike processes that fell silent off the roll; what they held."""
        limit = monotonic - self._settings.lost_worker_after
        lost = [name for name, known in self._processes.items() if known.heard_at <= limit]
        return [held for name in lost for held in self._processes.pop(name).held.values()]

    def take_wakes(self, ready_count: int, monotonic: float) -> int:
        """How many processes to wake for so many ready evaluations; they count as woken.

        One that was woken within the last second, and has not asked yet, is still expected.
        """
        again = monotonic - self._settings.wake_again_after
        self._wakes = [at for at in self._wakes if at > again]
        idle = [known for known in self._processes.values() if not known.held]
        sleeping = sum(self._sleeps(known, monotonic) for known in idle)
        # Whoever is awake and holds nothing takes the first ones before a wake-up could.
        left = ready_count - (len(idle) - sleeping)
        # Those that are expected to exist but have not spoken yet.
        sleeping += max(0, self._settings.expected_workers - len(self._processes))
        count = max(0, min(left, sleeping) - len(self._wakes))
        self._wakes += [monotonic] * count
        return count

    def _sleeps(self, process: WorkerProcess, monotonic: float) -> bool:
        asked_lately = monotonic < process.asked_at + self._settings.awake_after_asking
        return not process.held and not asked_lately

    def next_deadline(self, ready_count: int, monotonic: float) -> float | None:
        """When a process is lost, or may have to be woken for what is ready."""
        deadlines = [
            known.heard_at + self._settings.lost_worker_after for known in self._processes.values()
        ]
        if ready_count:
            deadlines += [
                known.asked_at + self._settings.awake_after_asking
                for known in self._processes.values()
                if not known.held
            ]
            deadlines += [at + self._settings.wake_again_after for at in self._wakes]
        # Those that are past have been acted on by the tick before.
        return min((at for at in deadlines if at > monotonic), default=None)

    def told(self, monotonic: float) -> tuple[WorkerTold, ...]:
        """Each process by name, with what it holds, the longest held first."""
        for known in self._processes.values():
            known.count(monotonic)
            known.lately.mark(monotonic)
        return tuple(
            WorkerTold(
                process=name,
                lately=known.lately.told(monotonic)[0],
                held=tuple(
                    HeldFor(
                        eval_id=held.eval_id,
                        begun=held.begun,
                        seconds=max(monotonic - held.since, 0.0),
                    )
                    for held in sorted(known.held.values(), key=lambda each: each.since)
                ),
            )
            for name, known in sorted(self._processes.items())
        )

    def counts(self) -> tuple[int, int]:
        """Processes known, and those that hold deliveries."""
        processes = self._processes.values()
        return len(processes), sum(1 for process in processes if process.held)
