"""Node pools (doors.md 1): writing them, and what is in one: its nodes, the jobs that name it."""

from django.http import HttpResponse

from cluster.api.blocking_read import answer_read
from cluster.api.body import Body
from cluster.api.nodes import answer_nodes
from cluster.api.paging import BY_JOB, ListRequest, page_of, read_listing
from cluster.api.request import Call
from cluster.api.respond import Found, answer_write
from cluster.api.stubs import job_stub
from cluster.api.watches import JOB_TABLES
from cluster.operations.errors import OperationRefused
from cluster.operations.node_pools import delete_node_pool, put_node_pool
from cluster.operations.rights import require_pool, require_reads
from cluster.store.ports import RecordReader
from scheduler.access.access import EVERY_NAMESPACE
from scheduler.state.nouns import JOBS
from scheduler.structs.identity import ALL_NODE_POOLS
from scheduler.structs.node import NodePool, NodePoolSchedulerConfiguration


async def pool_nodes(call: Call, name: str) -> HttpResponse:
    """GET /v1/node/pool/<name>/nodes; of `all`, every node."""
    require_reads(call.caller, "node")
    require_pool(call.caller, name, "read")
    listing = _read_listing(call)
    return await answer_nodes(call, listing, {} if name == ALL_NODE_POOLS else {"node_pool": name})


async def pool_jobs(call: Call, name: str) -> HttpResponse:
    """GET /v1/node/pool/<name>/jobs; of `all`, only the jobs that name it so."""
    require_pool(call.caller, name, "read")
    listing = _read_listing(call)

    def work(reader: RecordReader) -> Found:
        jobs = (
            job
            for job in reader.list_all(JOBS)
            if job.node_pool == name
            and call.namespace in {job.namespace, EVERY_NAMESPACE}
            and call.allows(job.namespace, "list-jobs")
        )
        page = page_of(jobs, listing, BY_JOB)
        index = max(reader.table_index("jobs"), reader.table_index("job_summaries"))
        stubs = [job_stub(reader, job, with_meta=False) for job in page.items]
        return Found(index=index, body=stubs, next_token=page.next_token)

    return await answer_read(call, work, *JOB_TABLES)


async def write_pool(call: Call, name: str | None = None) -> HttpResponse:
    """PUT /v1/node/pools and /v1/node/pool/<name>: replaces all of it."""
    body = call.body("NodePool")
    pool = NodePool(
        name=body.text("Name"),
        description=body.text("Description"),
        meta=body.texts("Meta"),
        scheduler_configuration=_configuration_of(body.nested("SchedulerConfiguration")),
        node_identity_ttl=body.duration("NodeIdentityTTL"),
    )
    if name is not None and pool.name != name:
        raise OperationRefused("Node pool name does not match request path")
    index = await call.write(put_node_pool, pool, ids=False)
    return answer_write(call.request, None, index)


async def remove_pool(call: Call, name: str) -> HttpResponse:
    """DELETE /v1/node/pool/<name>."""
    index = await call.write(delete_node_pool, name, ids=False)
    return answer_write(call.request, None, index)


def _configuration_of(body: Body | None) -> NodePoolSchedulerConfiguration | None:
    if body is None:
        return None
    oversubscribes = "MemoryOversubscriptionEnabled"
    return NodePoolSchedulerConfiguration(
        scheduler_algorithm=body.text("SchedulerAlgorithm"),
        memory_oversubscription_enabled=(
            body.flag(oversubscribes) if body.has(oversubscribes) else None
        ),
    )


def _read_listing(call: Call) -> ListRequest:
    listing = read_listing(call.query)
    if listing.prefix:
        raise OperationRefused("prefix argument not allowed")
    return listing
