"""Who holds room: by job, summed by the database; by node pool, by the sums kept for nodes.

In: a reader and the namespaces that count (None: all). Out: plain numbers; one statement each.
What has not ended on its node is held (placement.md 6.13).
"""

from cluster.store.places import held_of_node
from cluster.store.ports import JobsFace, Namespaces, PoolFace, RoomHeld
from cluster.store.reader import DjangoStateReader
from cluster.store.tallies import within
from scheduler.structs.identity import JobKey

_HELD = "client_status NOT IN ('complete', 'failed', 'lost')"
_SUMS = "COUNT(*), COALESCE(SUM(a.cpu_mhz), 0), COALESCE(SUM(a.memory_mb), 0)"
_READY = "status = 'ready' AND eligibility = 'eligible' AND NOT is_draining"


def jobs_by_namespace(reader: DjangoStateReader, namespaces: Namespaces) -> dict[str, JobsFace]:
    """Jobs in all, and those that are not dead, by namespace; those without jobs are left out."""
    where, parameters = within(namespaces)
    found = reader.rows(
        "SELECT namespace, COUNT(*), SUM(CASE WHEN status = 'dead' THEN 0 ELSE 1 END)"  # noqa: S608 - names of our own tables only
        f" FROM job{where} GROUP BY namespace",
        parameters,
    )
    return {str(name): JobsFace(int(count), int(alive)) for name, count, alive in found}


def pool_faces(reader: DjangoStateReader) -> dict[str, PoolFace]:
    """Pools that have nodes: how many, how many are ready, and what they can give."""
    found = reader.rows(
        f"SELECT node_pool, COUNT(*), SUM(CASE WHEN {_READY} THEN 1 ELSE 0 END),"  # noqa: S608 - our own text
        " SUM(cpu_mhz), SUM(memory_mb) FROM node GROUP BY node_pool",
        (),
    )
    return {
        str(pool): PoolFace(int(count), int(ready), int(cpu), int(memory))
        for pool, count, ready, cpu, memory in found
    }


def held_by_pool(reader: DjangoStateReader) -> dict[str, RoomHeld]:
    """What allocations hold of the nodes of each pool that holds any, by the sums of the nodes.

    A tenth of what adding up the allocations costs: there are ten times as many.
    """
    found = reader.rows(
        "SELECT n.node_pool, u.body FROM node_use u JOIN node n ON n.id = u.node_id", ()
    )
    held: dict[str, RoomHeld] = {}
    for pool, body in found:
        of_node = held_of_node(body)
        if of_node.allocations:
            before = held.get(str(pool), RoomHeld())
            held[str(pool)] = RoomHeld(
                before.allocations + of_node.allocations,
                before.cpu_mhz + of_node.cpu_mhz,
                before.memory_mb + of_node.memory_mb,
            )
    return held


def held_by_job(
    reader: DjangoStateReader, namespaces: Namespaces, at_most: int, pool: str = ""
) -> list[tuple[JobKey, RoomHeld]]:
    """The jobs that hold most CPU, the largest first; of one pool, what they hold there."""
    where, parameters = within(namespaces, f"a.{_HELD}", column="a.namespace")
    join = ""
    if pool:
        join = " JOIN node n ON n.id = a.node_id"
        where, parameters = f"{where} AND n.node_pool = %s", (*parameters, pool)
    found = reader.rows(
        f"SELECT a.namespace, a.job_id, {_SUMS} AS memory FROM allocation a{join}{where}"  # noqa: S608 - our own text
        " GROUP BY a.namespace, a.job_id"
        f" ORDER BY SUM(a.cpu_mhz) DESC, a.namespace, a.job_id LIMIT {int(at_most)}",
        parameters,
    )
    return [(JobKey(str(space), str(job_id)), _held(sums)) for space, job_id, *sums in found]


def _held(sums: list[int]) -> RoomHeld:
    return RoomHeld(*(int(each) for each in sums))
