"""The server end of the node protocol: one view per call of an agent.

In: authenticated calls of agents. Out: answers in the coding they asked in. Every view does one
operation or one read; beats and reports are gathered per process before they are written.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import TypeVar

import msgspec
from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse

from cluster.agent.clock_watch import CLOCKS, tolerance
from cluster.agent.heartbeats import BEATS, heartbeat_ttl
from cluster.agent.node_request import NodeRequest
from cluster.agent.protocol import (
    MAX_BATCH,
    MAX_BODY,
    MAX_WAIT_S,
    AwaitEnds,
    Beat,
    BeatAnswer,
    EmitEvents,
    Ended,
    Fetch,
    Fetched,
    Pulled,
    Refused,
    Register,
    Registered,
    Report,
    Reported,
    encode,
)
from cluster.agent.report_batch import REPORTS
from cluster.operations.allocations import NodeReport
from cluster.operations.audit import note_refused
from cluster.operations.errors import Conflict, NotAllowed, NotFound, OperationRefused
from cluster.operations.node_identities import (
    NODE_NOT_FOUND,
    is_identity_due,
    is_introduced,
    issue_node_identity,
)
from cluster.operations.nodes import (
    NodeWritten,
    add_node_events,
    register_node,
    update_status,
)
from cluster.store.access import the_store
from cluster.store.audit_entries import AGENT, Act, Actor
from cluster.store.blocking import Watch, Woken, wait_for
from cluster.store.join_tokens import use_join_token
from cluster.store.ports import RecordReader
from scheduler.errors import IllegalTransition
from scheduler.ports import StateReader
from scheduler.state.events import Topic
from scheduler.structs.allocation import Allocation, ClientStatus
from scheduler.structs.job import Job
from scheduler.structs.node import Node, NodeStatus

SECOND = 1_000_000_000
#: MHz or MiB that no node has.
_MOST_USED = 1 << 50
Answer = TypeVar("Answer")
View = Callable[[NodeRequest], Awaitable[object]]


class NotWritten(OperationRefused):
    """A fault of ours: the node asks again."""

    status = 503


def endpoint(
    method: str, view: View
) -> Callable[[HttpRequest], Coroutine[object, object, HttpResponse]]:
    """A Django view that knows its caller and turns refusals into answers."""

    async def guarded(request: HttpRequest) -> HttpResponse:
        call = NodeRequest(request)
        try:
            if request.method != method:
                return _refusal(call, 405, "Invalid method")
            answer = await view(call)
        except OperationRefused as refused:
            if isinstance(refused, NotAllowed):
                _note_refused(call, refused)
            return _refusal(call, refused.status, str(refused))
        except IllegalTransition as error:
            return _refusal(call, Conflict.status, str(error))
        except msgspec.MsgspecError as problem:
            return _refusal(call, 400, str(problem))
        except RequestDataTooBig:
            return _refusal(call, 413, f"a body has at most {MAX_BODY} bytes")
        return HttpResponse(encode(answer, call.coding), content_type=call.coding)

    return guarded


def _note_refused(call: NodeRequest, refused: NotAllowed) -> None:
    """Tell the audit of a node that did not prove what it says it is. Only its id is its own."""
    joins = call.request.path.endswith("/register")
    act = Act("join" if joins else "report as node", "node", call.shown_node_id)
    who = Actor(address=call.caller.address, door=AGENT)
    note_refused(the_store(), who, act, str(refused), at=call.now)


async def take_registration(call: NodeRequest) -> Registered:
    """Let a node join, or take in what has changed about it."""
    asked = call.body(Register)
    if asked.node.id != call.node_id:
        raise NotAllowed("the node in the body is not the one that calls")
    joins = await _joins(call, asked.node)
    written = await the_store().awrite_call(
        register_node,
        asked.node,
        by=call.caller,
        secret=call.secret,
        may_join=joins,
        now=call.now,
        ids=call.ids,
    )
    # The leader hears of a registration, and of a status, through the record itself.
    identity = await _identity(call, written.node.id) if asked.takes_identity else ""
    return Registered(
        heartbeat_ttl=_heard(call, written.node.status)[0],
        node_modify_index=written.node.modify_index,
        eval_ids=written.eval_ids,
        num_nodes=BEATS.node_count,
        scheduling_eligibility=written.node.scheduling_eligibility,
        index=written.index,
        identity=identity,
    )


async def take_beat(call: NodeRequest) -> BeatAnswer:
    """Note that the node lives; a write only when its status changes by it."""
    arrived = call.now
    beat = call.body(Beat)
    if beat.status not in set(NodeStatus):
        raise OperationRefused(f'invalid status "{beat.status}" for node')
    node = await call.node()
    written = NodeWritten(node=node)
    if node.status != beat.status:
        written = await the_store().awrite_call(
            update_status,
            node.id,
            NodeStatus(beat.status),
            by=call.caller,
            secret=call.secret,
            now=call.now,
            ids=call.ids,
        )
    ttl = await _noted(call, written, _used(beat))
    await _tell_clock(call, written.node, beat.sent_at, arrived)
    return BeatAnswer(
        heartbeat_ttl=ttl,
        index=written.index,
        status=written.node.status,
        scheduling_eligibility=written.node.scheduling_eligibility,
        eval_ids=written.eval_ids,
        num_nodes=BEATS.node_count,
        identity=await _identity_due(call, beat),
    )


async def _identity_due(call: NodeRequest, beat: Beat) -> str:
    """Another identity where one is wanted, or the present one ends soon; "": neither."""
    if not beat.takes_identity:
        return ""
    is_due = beat.renews_identity or await the_store().aread(
        lambda reader: is_identity_due(reader, call.secret, now=call.now)
    )
    return await _identity(call, call.node_id) if is_due else ""


async def _identity(call: NodeRequest, node_id: str) -> str:
    return await the_store().awrite_call(
        issue_node_identity,
        node_id,
        by=call.caller,
        secret=call.secret,
        region=settings.BIVOUAC_REGION,
        now=call.now,
        ids=call.ids,
    )


async def _tell_clock(call: NodeRequest, node: Node, sent_at: int, arrived: int) -> None:
    """Name in its history that the node's clock is off, or agrees again; a write for news only."""
    limit = tolerance(settings.BIVOUAC_MIN_HEARTBEAT_TTL)
    event = CLOCKS.hear(node, sent_at, now=arrived, limit=limit)
    if event is not None:
        await the_store().awrite_call(
            add_node_events, node.id, (event,), by=call.caller, secret=call.secret, now=call.now
        )


async def give_allocations(call: NodeRequest) -> Pulled:
    """Which allocations the node has, once something about them is newer than `index`.

    A collected one moves no index of those that stay, so fewer than `known` are news as well.
    """
    after, known = call.number("index"), call.number("known")
    deadline = call.monotonic() + min(call.number("wait"), MAX_WAIT_S)
    woken = Woken.NOT
    await call.node()
    while True:
        seen, newest, pulled = await the_store().aread(lambda reader: _pull(reader, call.node_id))
        left = deadline - call.monotonic()
        has_news = newest > after or len(pulled.allocations) < known or woken is Woken.LOST
        if not after or has_news or left <= 0:
            return pulled
        woken = await wait_for([Watch(Topic.NODE_USE, call.node_id)], after=seen, timeout=left)


async def give_whole_allocations(call: NodeRequest) -> Fetched:
    """The allocations asked for, as far as they are the node's own, with their jobs."""
    asked = call.body(Fetch)
    if len(asked.ids) > MAX_BATCH:
        raise OperationRefused(f"at most {MAX_BATCH} allocations at a time")
    await call.node()

    def work(reader: StateReader) -> Fetched:
        reader.preload(allocs=asked.ids)
        found = [alloc for each in asked.ids if (alloc := reader.allocation(each)) is not None]
        own = tuple(alloc for alloc in found if alloc.node_id == call.node_id)
        return Fetched(
            index=reader.index,
            allocations=own,
            jobs=_jobs_of(reader, own),
            elsewhere=running_elsewhere(reader, own),
        )

    return await the_store().aread(work)


async def give_ended(call: NodeRequest) -> Ended:
    """Those of some allocations that have ended, once there are any or the time is up."""
    asked = call.body(AwaitEnds)
    if len(asked.ids) > MAX_BATCH:
        raise OperationRefused(f"at most {MAX_BATCH} allocations at a time")
    deadline = call.monotonic() + min(asked.wait_s, MAX_WAIT_S)
    await call.node()
    watches = [Watch(Topic.ALLOCATION, alloc_id) for alloc_id in asked.ids]
    while True:
        seen, ended = await the_store().aread(
            lambda reader: (reader.index, ended_among(reader, asked.ids))
        )
        left = deadline - call.monotonic()
        if ended or left <= 0:
            return Ended(ids=ended)
        await wait_for(watches, after=seen, timeout=left)


async def take_report(call: NodeRequest) -> Reported:
    """What has become of allocations; answered when it is in the record."""
    asked = call.body(Report)
    if len(asked.allocations) > MAX_BATCH:
        raise OperationRefused(f"at most {MAX_BATCH} allocations at a time")
    node = await call.node()
    for report in asked.allocations:
        if report.client_status not in set(ClientStatus):
            raise OperationRefused(f'invalid client status "{report.client_status}"')
    allocations = tuple(
        Allocation(
            id=report.id,
            node_id=node.id,
            client_status=ClientStatus(report.client_status),
            client_description=report.client_description,
            task_states=report.task_states,
            deployment_status=report.deployment_status,
            network_status=report.network_status,
        )
        for report in asked.allocations
    )
    told = NodeReport(
        node_id=node.id, secret=call.secret, allocations=allocations, asks_ready=asked.asks_ready
    )
    return Reported(index=await REPORTS.submit(told, clock=call.clock, ids=call.ids))


async def take_events(call: NodeRequest) -> Reported:
    """Lines for the node's history."""
    asked = call.body(EmitEvents)
    node = await call.node()
    index = await the_store().awrite_call(
        add_node_events,
        node.id,
        asked.events[-10:],
        by=call.caller,
        secret=call.secret,
        now=call.now,
    )
    return Reported(index=index)


async def _joins(call: NodeRequest, node: Node) -> bool:
    """Whether an unknown node may join; a known one uses up no token."""
    now = call.now

    def look(reader: StateReader) -> tuple[bool, bool]:
        is_known = reader.node(call.node_id) is not None
        return is_known, is_introduced(reader, node, call.join_token, now=now)

    is_known, introduced = await the_store().aread(look)
    if is_known or introduced:
        return introduced
    return await the_store().acall(
        lambda: use_join_token(call.join_token, call.node_id, now=call.now)
    )


def _used(beat: Beat) -> tuple[int, int] | None:
    """What it says that its tasks use; nothing where it cannot be, for others share the write."""
    told = beat.used_cpu_mhz, beat.used_memory_mb
    return told if all(0 <= value < _MOST_USED for value in told) else None


async def _noted(
    call: NodeRequest, written: NodeWritten, used: tuple[int, int] | None = None
) -> int:
    """Until when the node may be silent, once the record has what the leader's timer needs."""
    began = call.monotonic()
    ttl, in_record = _heard(call, written.node.status, used)
    if in_record is None or written.index:
        return ttl
    # Shared with others: whoever hangs up must not stop it.
    if not await asyncio.shield(in_record):
        raise NotWritten("the heartbeat could not be written")
    return max(ttl // 2, ttl - int((call.monotonic() - began) * SECOND))


def _heard(
    call: NodeRequest, status: NodeStatus, used: tuple[int, int] | None = None
) -> tuple[int, asyncio.Future[bool] | None]:
    """Note the beat, except of a node that stays down: only a status can bring it back."""
    ttl = heartbeat_ttl(
        BEATS.node_count,
        min_ttl_s=settings.BIVOUAC_MIN_HEARTBEAT_TTL,
        chance=call.chance(),
    )
    if status is NodeStatus.DOWN:
        return ttl, None
    return ttl, BEATS.add(call.node_id, now=call.now, ttl=ttl, used=used)


def _pull(reader: RecordReader, node_id: str) -> tuple[int, int, Pulled]:
    """What was read at, when the server last changed one of them, and the answer."""
    if reader.node(node_id) is None:
        raise NotFound(NODE_NOT_FOUND)
    allocations = reader.server_indexes_on(node_id)
    newest = max(allocations.values(), default=0)
    return reader.index, newest, Pulled(index=newest or 1, allocations=allocations)


def running_elsewhere(reader: StateReader, allocs: Iterable[Allocation]) -> tuple[str, ...]:
    """What these allocations replace, as far as it runs on another node than they do."""
    before = {
        alloc.previous_allocation: alloc.node_id for alloc in allocs if alloc.previous_allocation
    }
    reader.preload(allocs=before)
    return tuple(
        alloc_id
        for alloc_id, node_id in before.items()
        if not _has_ended(found := reader.allocation(alloc_id))
        and found is not None
        and found.node_id != node_id
    )


def ended_among(reader: StateReader, ids: Iterable[str]) -> tuple[str, ...]:
    """Those of the ids whose end nobody needs to wait for any more (node-agent-2.md 9.1)."""
    return tuple(alloc_id for alloc_id in ids if _has_ended(reader.allocation(alloc_id)))


def _has_ended(alloc: Allocation | None) -> bool:
    """A lost node's allocation has ended; that of a silent one may run on, and is not awaited."""
    return alloc is None or alloc.is_client_terminal or alloc.client_status is ClientStatus.UNKNOWN


def _jobs_of(reader: StateReader, allocs: tuple[Allocation, ...]) -> tuple[Job, ...]:
    jobs: dict[tuple[object, ...], Job] = {}
    for alloc in allocs:
        key = (alloc.job_key, alloc.job_create_index, alloc.job_version)
        if key not in jobs and (job := reader.job_of(alloc)) is not None:
            jobs[key] = job
    return tuple(jobs.values())


def _refusal(call: NodeRequest, status: int, text: str) -> HttpResponse:
    body = encode(Refused(error=text), call.coding)
    return HttpResponse(body, content_type=call.coding, status=status)
