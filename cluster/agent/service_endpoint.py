"""The server end of what agents say of services, and of the identities that tasks are given."""

from django.conf import settings

from cluster.agent.node_request import NodeRequest
from cluster.agent.protocol import AskIdentity, GivenIdentity, Reported, ReportServices
from cluster.operations.services import ServiceReport, report_services
from cluster.operations.workload_identities import sign_workload_identity
from cluster.store.access import the_store


async def take_services(call: NodeRequest) -> Reported:
    """Take registrations in and out; answered when it is in the record."""
    asked = call.body(ReportServices)
    node = await call.node()
    report = ServiceReport(
        node_id=node.id,
        secret=call.secret,
        registered=asked.registered,
        ended=asked.ended,
        is_whole=asked.is_whole,
    )
    index = await the_store().awrite_call(report_services, report, by=call.caller, now=call.now)
    return Reported(index=index)


async def give_identity(call: NodeRequest) -> GivenIdentity:
    """Sign the identity of a task of the node's own, when it is needed."""
    asked = call.body(AskIdentity)
    node = await call.node()
    token = await the_store().aread(
        lambda reader: sign_workload_identity(
            reader,
            node.id,
            asked.alloc_id,
            asked.task,
            asked.name,
            secret=call.secret,
            region=settings.BIVOUAC_REGION,
            by=call.caller,
            now=call.now,
            ids=call.ids,
        )
    )
    return GivenIdentity(token=token)
