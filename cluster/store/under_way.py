"""Allocations that something is happening to at this moment, for whoever goes on from a snapshot.

In: a snapshot of the record. Out: those that were placed and have not begun, that were told to
stop and run on, and those whose health nobody has judged yet; few, on a quiet cluster.
"""

from cluster.store.node_mirror import MirrorSnapshot
from scheduler.structs.allocation import Allocation

#: Columns alone: of a long table no body is looked at that is not wanted.
_IDS = (
    "SELECT id FROM allocation WHERE client_status = 'pending' AND desired_status = 'run'"
    " OR desired_status <> 'run' AND client_status IN ('pending', 'running')"
)
#: Agents judge every service once, within its deadline. The newest: at rest there is none.
_UNJUDGED = (
    "SELECT alloc.id FROM allocation alloc JOIN job ON job.namespace = alloc.namespace"
    " AND job.job_id = alloc.job_id WHERE alloc.client_status = 'running'"
    " AND alloc.desired_status = 'run' AND alloc.is_healthy IS NULL"
    " AND job.type IN ('service', 'system') ORDER BY alloc.create_index DESC LIMIT 5000"
)


def under_way(snapshot: MirrorSnapshot) -> tuple[Allocation, ...]:
    """Them, in order of id."""
    ids = {str(row[0]) for text in (_IDS, _UNJUDGED) for row in snapshot.rows(text, ())}
    found = {alloc_id: snapshot.allocation(alloc_id) for alloc_id in sorted(ids)}
    unjudged = (
        alloc
        for deployment in snapshot.deployments()
        if deployment.is_active
        for alloc in snapshot.allocations_by_deployment(deployment.id)
        if not alloc.is_terminal
        and (alloc.deployment_status is None or alloc.deployment_status.healthy is None)
    )
    found |= {alloc.id: alloc for alloc in unjudged}
    return tuple(alloc for alloc in found.values() if alloc is not None)
