"""Services: agents register those of their allocations; others find them, and may delete one.

In: a store, what an agent shows and tells. Out: indexes, or refusals. That a registration goes
with its allocation and its node is the store's business, in the transaction that ends them.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from cluster.operations.errors import NotAllowed, NotFound, OperationRefused
from cluster.operations.node_identities import NODE_NOT_FOUND, require_proof
from cluster.operations.rights import require
from scheduler.access.caller import Caller
from scheduler.ports import Change, StateStore
from scheduler.state.service_noun import SERVICES
from scheduler.structs.node import Node, NodeStatus
from scheduler.structs.service_registration import ServiceRegistration

NOT_FOUND = "service registration not found"
#: Registrations that one call may bring, or take back.
MOST_AT_ONCE = 5_000
_LONGEST_TEXT = 512
_MOST_TAGS = 128
_LARGEST_PORT = 65_535
_CHOICE = re.compile(r"([0-9]{1,9})\|(.+)", re.DOTALL)


class ServiceReport(msgspec.Struct, frozen=True, kw_only=True):
    """What the agent of a node says of its services."""

    node_id: str
    #: What it proves itself with; managers need none.
    secret: str = ""
    #: To be registered. What is known of the allocation already is taken from the record.
    registered: tuple[ServiceRegistration, ...] = ()
    #: Ids of registrations that end.
    ended: tuple[str, ...] = ()
    #: The node has no others: what is not among `registered` ends.
    is_whole: bool = False


def report_services(store: StateStore, report: ServiceReport, *, by: Caller, now: int) -> int:
    """Take registrations in and out in one write; the index.

    One of an allocation that is over is passed over, because its end was quicker. What says the
    same as before is not written. Raises NotAllowed for another node's.
    """
    if len(report.registered) + len(report.ended) > MOST_AT_ONCE:
        raise OperationRefused(f"at most {MOST_AT_ONCE} services at a time")
    problems = [problem for each in report.registered for problem in _problems(each)]
    if problems:
        raise OperationRefused("; ".join(problems))

    def work(change: Change) -> None:
        node = change.node(report.node_id)
        if node is None:
            raise NotFound(NODE_NOT_FOUND)
        require_proof(change, node, report.secret, by=by, now=now)
        for service_id in _ended(change, node, report):
            stored = change.get(SERVICES, service_id)
            if stored is not None:
                _require_own(stored.node_id, node)
                change.delete(SERVICES, service_id)
        for told in report.registered:
            _register(change, node, told)

    return store.write(SERVICES.upserted, work, now=now, by=by)[0]


def delete_service(
    store: StateStore, namespace: str, service_id: str, *, by: Caller, now: int
) -> int:
    """Delete a registration; its agent brings it back when it next has something new to tell."""
    require(by, namespace, "submit-job", "delete-service-registration")

    def work(change: Change) -> None:
        stored = change.get(SERVICES, service_id)
        if stored is None or stored.namespace != namespace:
            raise NotFound(NOT_FOUND)
        change.delete(SERVICES, service_id)

    return store.write(SERVICES.deleted, work, now=now, by=by)[0]


def chosen_services(
    services: Sequence[ServiceRegistration], choice: str
) -> list[ServiceRegistration]:
    """So many of them, and for one key always the same ones as far as they are there.

    `choice` is `<number>|<key>`. Raises OperationRefused.
    """
    found = _CHOICE.fullmatch(choice)
    if found is None:
        raise OperationRefused(
            "failed to choose services: Parameter for choose must be in form '<number>|<key>'"
        )
    count, key = int(found[1]), found[2]
    return sorted(services, key=lambda service: _rank(service, key))[:count]


def _ended(change: Change, node: Node, report: ServiceReport) -> Iterable[str]:
    if not report.is_whole:
        return report.ended
    kept = {told.id for told in report.registered}
    return [each.id for each in change.list_by(SERVICES, "node", node.id) if each.id not in kept]


def _rank(service: ServiceRegistration, key: str) -> str:
    digest = hashlib.sha256(service.port.to_bytes(8, "big"))
    names = (service.alloc_id, service.id, service.namespace, service.address)
    for text in (*names, service.service_name, *service.tags, key):
        digest.update(text.encode())
    return digest.hexdigest()


def _register(change: Change, node: Node, told: ServiceRegistration) -> None:
    alloc = change.allocation(told.alloc_id)
    if alloc is None or alloc.is_client_terminal or node.status is NodeStatus.DOWN:
        return
    _require_own(alloc.node_id, node)
    stored = change.get(SERVICES, told.id)
    if stored is not None:
        _require_own(stored.node_id, node)
    known = replace(
        told,
        namespace=alloc.namespace,
        node_id=node.id,
        datacenter=node.datacenter,
        job_id=alloc.job_id,
        create_index=stored.create_index if stored else change.index,
        modify_index=stored.modify_index if stored else change.index,
    )
    if known != stored:
        change.put(SERVICES, replace(known, modify_index=change.index))


def _require_own(node_id: str, node: Node) -> None:
    if node_id != node.id:
        raise NotAllowed("the service is that of another node")


def _problems(told: ServiceRegistration) -> Iterable[str]:
    """What no agent of ours sends."""
    if not told.id.startswith(f"_nomad-task-{told.alloc_id}-"):
        yield f"service {told.id[:64]!r} does not name its allocation"
    texts = (told.id, told.service_name, told.address, *told.tags)
    if not told.service_name or any(len(text) > _LONGEST_TEXT for text in texts):
        yield f"service {told.id[:64]!r} has no name, or a text of over {_LONGEST_TEXT} letters"
    if any("\0" in text for text in texts):
        yield f"service {told.id[:64]!r} has a text with a NUL"
    if len(told.tags) > _MOST_TAGS:
        yield f"service {told.id[:64]!r} has more than {_MOST_TAGS} tags"
    if not 0 <= told.port <= _LARGEST_PORT:
        yield f"service {told.id[:64]!r} has port {told.port}"
