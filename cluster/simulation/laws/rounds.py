"""What must hold between the record and the leader once it has heard of everything."""

from collections import Counter
from collections.abc import Iterator

from cluster.simulation.cluster import Cluster
from cluster.simulation.laws.law import Laws
from scheduler.broker.places import Place
from scheduler.structs.evaluation import EvalStatus

#: Places in which an evaluation holds its job.
_HOLDS = frozenset({Place.READY, Place.OUTSTANDING, Place.BACKING_OFF, Place.FAILED})
LAWS: Laws[Cluster] = Laws()


@LAWS.add("none-lost", "the leader knows of every evaluation that is open")
def _none_lost(cluster: Cluster) -> Iterator[str]:
    leader = cluster.plane.leader
    if not leader.broker.enabled:
        return
    for row in cluster.plane.store.open_evaluations():
        if leader.broker.place_of(row.id) is not None or row.id in leader.blocked:
            continue
        if row.status is EvalStatus.PENDING:
            yield f"evaluation {row.id[-4:]} of {row.job_id} is pending, and nobody has it"
        # Another of its job is known, whose end cancels it.
        elif not any(
            other.id in leader.blocked or leader.broker.place_of(other.id) is not None
            for other in cluster.plane.store.evaluations_by_job(row.job_key)
        ):
            yield f"evaluation {row.id[-4:]} of {row.job_id} is blocked, and nobody has it"


@LAWS.add("one-at-a-time", "at most one evaluation of a job is with a worker or about to be")
def _one(cluster: Cluster) -> Iterator[str]:
    broker = cluster.plane.leader.broker
    held = Counter(
        row.job_key
        for row in cluster.plane.store.open_evaluations()
        if broker.place_of(row.id) in _HOLDS
    )
    for key, count in held.items():
        if count > 1:
            yield f"{count} evaluations of {key.job_id} are under way"
