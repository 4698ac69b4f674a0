"""What belongs to a node pool: its nodes, the jobs that name it (doors.md 1)."""

from django.http import HttpResponse

from cluster.api.blocking_read import answer_read
from cluster.api.nodes import answer_nodes
from cluster.api.paging import BY_JOB, ListRequest, page_of, read_listing
from cluster.api.request import Call
from cluster.api.respond import Found
from cluster.api.stubs import job_stub
from cluster.api.watches import JOB_TABLES
from cluster.operations.errors import OperationRefused
from cluster.operations.rights import require_pool, require_reads
from cluster.store.ports import RecordReader
from scheduler.access.access import EVERY_NAMESPACE
from scheduler.state.nouns import JOBS
from scheduler.structs.identity import ALL_NODE_POOLS


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


def _read_listing(call: Call) -> ListRequest:
    listing = read_listing(call.query)
    if listing.prefix:
        raise OperationRefused("prefix argument not allowed")
    return listing
