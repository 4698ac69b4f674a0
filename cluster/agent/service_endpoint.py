"""The server end of what agents say of services."""

from cluster.agent.node_request import NodeRequest
from cluster.agent.protocol import Reported, ReportServices
from cluster.operations.services import ServiceReport, report_services
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
