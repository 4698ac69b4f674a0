"""What evaluations that wait for capacity would need, summed as they come and go.

In: evaluations with what their run found exhausted. Out: CPU and memory by job, and by datacenter,
node class and node pool (evaluations.md 14). Kept as sums: telling them looks at no evaluation.
"""

from collections import Counter
from itertools import product
from typing import Generic, NamedTuple, TypeVar

import msgspec

from scheduler.structs.evaluation import Evaluation
from scheduler.structs.identity import JobKey

#: Jobs told one by one, at most; of more none.
MOST_JOBS = 1_000
#: Datacenter, node class ("" where none was exhausted), node pool.
Place = tuple[str, str, str]
Key = TypeVar("Key", JobKey, Place)


class MissingOfJob(msgspec.Struct, frozen=True, array_like=True):
    """What the evaluations of one job that wait would need."""

    namespace: str
    job_id: str
    cpu_mhz: int
    memory_mb: int


class MissingInPlace(msgspec.Struct, frozen=True, array_like=True):
    """What evaluations that wait would need of these nodes; each counts wherever it may go."""

    datacenter: str
    node_class: str
    node_pool: str
    cpu_mhz: int
    memory_mb: int


class MissingRoom:
    """Adds up what is missing, and takes off again what waits no more."""

    def __init__(self) -> None:
        self._of_jobs: _Sums[JobKey] = _Sums()
        self._in_places: _Sums[Place] = _Sums()

    def add(self, evaluation: Evaluation) -> None:
        """It waits from now on."""
        self._count(evaluation, 1)

    def remove(self, evaluation: Evaluation) -> None:
        """The very evaluation that was added waits no more."""
        self._count(evaluation, -1)

    def of_jobs(self) -> tuple[MissingOfJob, ...]:
        """By job, those that miss CPU or memory; none if there are more than MOST_JOBS."""
        if self.job_count > MOST_JOBS:
            return ()
        return tuple(MissingOfJob(*key, *room) for key, room in self._of_jobs.told())

    def in_places(self) -> tuple[MissingInPlace, ...]:
        """By datacenter, class and pool, where CPU or memory is missing."""
        return tuple(MissingInPlace(*key, *room) for key, room in self._in_places.told())

    @property
    def job_count(self) -> int:
        """Jobs that miss CPU or memory."""
        return len(self._of_jobs)

    def _count(self, evaluation: Evaluation, sign: int) -> None:
        missed = _missed_by(evaluation)
        if not any(missed):
            return
        self._of_jobs.add(evaluation.job_key, missed, sign)
        for place in _places_of(evaluation):
            self._in_places.add(place, missed, sign)


class _Room(NamedTuple):
    cpu_mhz: int
    memory_mb: int


class _Sums(Generic[Key]):
    """CPU and memory by key; what falls to nothing is forgotten."""

    def __init__(self) -> None:
        self._cpu: Counter[Key] = Counter()
        self._memory: Counter[Key] = Counter()
        #: How many evaluations stand behind a key: sums alone would not say when it is over.
        self._behind: Counter[Key] = Counter()

    def __len__(self) -> int:
        return len(self._behind)

    def add(self, key: Key, room: _Room, sign: int) -> None:
        """What one evaluation needs; `sign` is 1 when it comes and -1 when it goes."""
        self._behind[key] += sign
        self._cpu[key] += sign * room.cpu_mhz
        self._memory[key] += sign * room.memory_mb
        if not self._behind[key]:
            del self._behind[key], self._cpu[key], self._memory[key]

    def told(self) -> list[tuple[Key, _Room]]:
        """All of them, by key."""
        return [(key, _Room(self._cpu[key], self._memory[key])) for key in sorted(self._behind)]


def _missed_by(evaluation: Evaluation) -> _Room:
    needed = [
        resources
        for metric in evaluation.failed_task_groups.values()
        for resources in metric.resources_exhausted.values()
    ]
    return _Room(sum(each.cpu for each in needed), sum(each.memory_mb for each in needed))


def _places_of(evaluation: Evaluation) -> set[Place]:
    """Every datacenter it may go to, with every class that was exhausted and every pool."""
    metrics = evaluation.failed_task_groups.values()
    datacenters = {name for metric in metrics for name in metric.nodes_available}
    classes = {name for metric in metrics for name in metric.class_exhausted or ("",)}
    pools = {metric.node_pool for metric in metrics}
    return set(product(datacenters, classes, pools))
