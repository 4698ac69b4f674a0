"""The numbers of the cluster at one moment, by the names that the reference has for them.

In: a reader, what the leader told last. Out: gauges and times. What costs a row for each job or
node is told of so many at most; what is left out is a number too.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from cluster.store.leader_news import LeaderNews
from cluster.store.ports import Listing, RecordReader
from scheduler.state.noun import Noun
from scheduler.state.nouns import ALLOCATIONS, JOB_SUMMARIES, JOBS, NODE_USES, NODES
from scheduler.state.variable_nouns import LOCK_TIMERS
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.evaluation import EvalStatus, LifecycleStep, Step
from scheduler.structs.node import Node, NodeStatus

#: Evaluations whose steps tell how long things take.
RECENT = 300
_MS = 1_000_000
_SECOND = 1_000_000_000
_JOB_STATUSES = ("pending", "running", "dead")
#: Labels that name something.
_NAMING = frozenset({"job", "node_id", "eval_id", "node_pool"})
#: What begins the rest of a launched job's id, and the label that this rest has.
_CHILDREN = (("/dispatch-", "dispatch_id"), ("/periodic-", "periodic_id"))
_REJECTED = "nomad.nomad.plan.node_rejected"
_COUNTS = ("queued", "starting", "running", "complete", "failed", "lost", "unknown")


class Gauge(NamedTuple):
    """One number, by its dotted name."""

    name: str
    value: float
    labels: Mapping[str, str] = {}


class Times(NamedTuple):
    """How long something took, ms each, and when it ended, ns."""

    name: str
    values: tuple[tuple[int, float], ...]


class Counter(NamedTuple):
    """How often something happened: since the leader began, and when of late, ns each."""

    name: str
    #: None: nobody leads, or it leads since and has seen none.
    total: int | None
    at: tuple[int, ...]
    labels: Mapping[str, str] = {}


class Measurement(NamedTuple):
    """Everything at one moment."""

    at: int
    gauges: tuple[Gauge, ...]
    times: tuple[Times, ...]
    counters: tuple[Counter, ...] = ()

    def without_names(self) -> "Measurement":
        """What may be told to anybody: nothing that names a job, a node, a pool, an evaluation."""
        plain = tuple(gauge for gauge in self.gauges if _NAMING.isdisjoint(gauge.labels))
        counters = tuple(each for each in self.counters if _NAMING.isdisjoint(each.labels))
        return self._replace(gauges=plain, counters=counters)


def measured(
    reader: RecordReader, news: LeaderNews | None, *, most: int, now: int, is_well: bool
) -> Measurement:
    """What there is to tell; `most`: of how many jobs, nodes, waiting evaluations one by one.

    `is_well`: the record answers and somebody leads, as autopilot's health has it.
    """
    steps = reader.recent_steps(RECENT)
    gauges = [
        Gauge("nomad.nomad.autopilot.healthy", int(is_well)),
        Gauge("nomad.nomad.autopilot.failure_tolerance", 0),
        *_of_leader(news),
        *_of_delayed(reader, news, most, now),
        *_of_blocked(news, most),
        *_of_jobs(reader, most),
        *_of_nodes(reader, most),
        *_of_record(reader, now),
    ]
    counters = tuple(_refusals(steps, news, most))
    return Measurement(now, tuple(gauges), tuple(_times(steps)), counters)


def _of_leader(news: LeaderNews | None) -> Iterator[Gauge]:
    """What is in its memory; nothing of it while nobody leads."""
    yield Gauge("bivouac.leader.present", int(news is not None))
    if news is None:
        return
    broker, blocked = news.stats.broker, news.stats.blocked
    prefix = "nomad.nomad.broker"
    for name in ("ready", "unacked", "pending", "waiting", "cancelable"):
        yield Gauge(f"{prefix}.total_{name}", getattr(broker, f"total_{name}"))
    for scheduler, (ready, unacked) in sorted(broker.by_scheduler.items()):
        yield Gauge(f"{prefix}.{scheduler}_ready", ready)
        yield Gauge(f"{prefix}.{scheduler}_unacked", unacked)
    for name in ("total_blocked", "total_escaped", "total_quota_limit"):
        yield Gauge(f"nomad.nomad.blocked_evals.{name}", getattr(blocked, name))
    yield Gauge("nomad.nomad.plan.queue_depth", news.stats.plan_queue_depth)
    yield Gauge("bivouac.plans.taken", news.stats.plans_taken)
    yield Gauge("bivouac.worker.processes", news.stats.worker_processes)
    yield Gauge("bivouac.worker.busy_processes", news.stats.busy_worker_processes)


def _of_delayed(
    reader: RecordReader, news: LeaderNews | None, most: int, now: int
) -> Iterator[Gauge]:
    if news is None:
        return
    delayed = news.stats.broker.delayed
    is_too_much = len(delayed) > most
    yield Gauge("bivouac.metrics.evaluations_left_out", len(delayed) if is_too_much else 0)
    if is_too_much or not delayed:
        return
    found = {each.id: each for each in reader.evaluations_among(delayed)}
    for eval_id, until in delayed.items():
        labels = {"eval_id": eval_id}
        if eval_id in found:
            evaluation = found[eval_id]
            labels |= {"job": evaluation.job_id, "namespace": evaluation.namespace}
        seconds = max(0, until - now) / _SECOND
        yield Gauge("nomad.nomad.broker.eval_waiting", seconds, labels)


def _of_blocked(news: LeaderNews | None, most: int) -> Iterator[Gauge]:
    """What evaluations that wait for room would need."""
    if news is None:
        return
    blocked, prefix = news.stats.blocked, "nomad.nomad.blocked_evals"
    for room in blocked.missing_in_places:
        labels = {
            "datacenter": room.datacenter,
            "node_class": room.node_class,
            "node_pool": room.node_pool,
        }
        yield Gauge(f"{prefix}.cpu", room.cpu_mhz, labels)
        yield Gauge(f"{prefix}.memory", room.memory_mb, labels)
    jobs = blocked.missing_of_jobs if blocked.jobs_missing <= most else ()
    left_out = blocked.jobs_missing - len(jobs)
    yield Gauge("bivouac.metrics.blocked_jobs_left_out", left_out)
    for need in jobs:
        labels = {"job": need.job_id, "namespace": need.namespace}
        yield Gauge(f"{prefix}.job.cpu", need.cpu_mhz, labels)
        yield Gauge(f"{prefix}.job.memory", need.memory_mb, labels)


def _refusals(
    steps: Iterable[LifecycleStep], news: LeaderNews | None, most: int
) -> Iterator[Counter]:
    """Plans that nodes refused: those the leader has seen, and when of late."""
    late: defaultdict[str, list[int]] = defaultdict(list)
    for step in steps:
        if step.step is Step.PLAN_ANSWERED:
            for node_id in step.nodes:
                late[node_id].append(step.at)
    ended = tuple(sorted(at for each in late.values() for at in each))
    totals = news.stats.refusals_of_nodes if news is not None else {}
    total = news.stats.plan_refusals if news is not None else None
    yield Counter("bivouac.plans.refused_by_nodes", total, ended)
    nodes = sorted({*totals, *late})
    if len(nodes) > most:
        return
    for node_id in nodes:
        at = tuple(late.get(node_id, ()))
        yield Counter(_REJECTED, totals.get(node_id), at, {"node_id": node_id})


def _of_jobs(reader: RecordReader, most: int) -> Iterator[Gauge]:
    by_status = _facet(reader, JOBS, "status")
    for status in _JOB_STATUSES:
        yield Gauge(f"nomad.nomad.job_status.{status}", by_status.get(status, 0))
    count = sum(by_status.values())
    yield Gauge("bivouac.metrics.jobs_left_out", count if count > most else 0)
    if count > most:
        return
    for summary in reader.list_all(JOB_SUMMARIES):
        for group, counts in sorted(summary.summary.items()):
            labels = {
                "job": summary.job_id, "namespace": summary.namespace, "task_group": group,
                **_parent(summary.job_id),
            }  # fmt: skip
            for name in _COUNTS:
                yield Gauge(f"nomad.nomad.job_summary.{name}", getattr(counts, name), labels)


def _parent(job_id: str) -> dict[str, str]:
    """Which job launched it, and what tells it from others of this one."""
    for mark, label in _CHILDREN:
        parent, found, rest = job_id.partition(mark)
        if found:
            return {"parent_id": parent, label: rest}
    return {}


def _of_nodes(reader: RecordReader, most: int) -> Iterator[Gauge]:
    by_status = _facet(reader, NODES, "status")
    for node_status in NodeStatus:
        yield Gauge("bivouac.nodes", by_status.get(node_status, 0), {"status": node_status.value})
    yield Gauge("nomad.nomad.heartbeat.active", by_status.get("ready", 0))
    count = sum(by_status.values())
    yield Gauge("bivouac.metrics.nodes_left_out", count if count > most else 0)
    if count > most:
        return
    uses = {use.node_id: use.held for use in reader.list_all(NODE_USES)}
    counts = _open_by_node(reader)
    for node in reader.list_all(NODES):
        held = uses.get(node.id)
        cpu, memory, disk = _size(node)
        taken = (held.cpu, held.memory_mb, held.disk_mb) if held else (0, 0, 0)
        labels = _labels(node)
        for name, size, use in zip(
            ("cpu", "memory", "disk"), (cpu, memory, disk), taken, strict=True
        ):
            yield Gauge(f"nomad.client.allocated.{name}", use, labels)
            yield Gauge(f"nomad.client.unallocated.{name}", size - use, labels)
        memory_max = held.memory_max_mb if held else 0
        yield Gauge("nomad.client.allocated.max_memory", memory_max, labels)
        running = counts.get((ClientStatus.RUNNING.value, node.id), 0)
        yield Gauge("nomad.client.allocations.running", running, labels)
        unstarted = counts.get((ClientStatus.PENDING.value, node.id), 0)
        yield Gauge("bivouac.client.allocations_not_started", unstarted, labels)
        allocs = held.alloc_count if held else 0
        yield Gauge("bivouac.client.allocations_held", allocs, labels)


def _of_record(reader: RecordReader, now: int) -> Iterator[Gauge]:
    # None is a number too: what is watched must not vanish when it falls to it.
    there = _facet(reader, ALLOCATIONS, "client_status")
    for client in ClientStatus:
        yield Gauge("bivouac.allocations", there.get(client, 0), {"client_status": client.value})
    waiting = reader.open_tally(None)
    for status in (EvalStatus.PENDING, EvalStatus.BLOCKED):
        yield Gauge("bivouac.evaluations", waiting.get(status, 0), {"status": status.value})
    timers = reader.list_all(LOCK_TIMERS)
    late = sum(1 for timer in timers if timer.renewable_until <= now)
    yield Gauge("nomad.variables.locks.ttl_timer.num", len(timers) - late)
    yield Gauge("nomad.variables.locks.delay_timer.num", late)
    yield Gauge("nomad.state.snapshotIndex", reader.index)
    yield Gauge("nomad.raft.appliedIndex", reader.index)
    yield Gauge("nomad.raft.lastIndex", reader.index)


def _times(steps: Iterable[LifecycleStep]) -> Iterator[Times]:
    """From the recorded steps: a step says how long the one before it lasted."""
    found: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
    waited: dict[str, tuple[int, float]] = {}
    for step in steps:
        lasted = step.duration_ns / _MS
        if step.step is Step.DEQUEUED:
            found["nomad.nomad.broker.wait_time"].append((step.at, lasted))
            waited[step.eval_id] = (step.at, lasted)
        elif step.step is Step.PLAN_SUBMITTED:
            found["bivouac.worker.schedule"].append((step.at, lasted))
        elif step.step is Step.PLAN_ANSWERED:
            found["nomad.nomad.plan.submit"].append((step.at, lasted))
        elif step.step in {Step.COMPLETE, Step.FAILED, Step.CANCELED} and step.eval_id in waited:
            begun, wait = waited.pop(step.eval_id)
            took = (step.at - begun) / _MS
            found["nomad.nomad.broker.process_time"].append((step.at, took))
            found["nomad.nomad.broker.response_time"].append((step.at, wait + took))
    for name, values in sorted(found.items()):
        yield Times(name, tuple(values))


def _facet(reader: RecordReader, noun: Noun[Any, Any], column: str) -> dict[str, int]:
    rows = reader.facets(noun, (column,), Listing())
    return {str(value): int(count) for (value, *_), count in rows.items()}


def _open_by_node(reader: RecordReader) -> dict[tuple[str, str], int]:
    """By client status and node: along the index of lists, past what has ended; no row is read."""
    noun: Noun[Any, Any] = ALLOCATIONS
    wanted = (ClientStatus.PENDING.value, ClientStatus.RUNNING.value)
    listing = Listing(among={"client_status": wanted})
    found = reader.facets(noun, ("client_status", "node_id"), listing)
    return {(str(status), str(node_id)): count for (status, node_id), count in found.items()}


def _size(node: Node) -> tuple[int, int, int]:
    """What tasks may have of it: CPU in MHz, memory and disk in MiB."""
    has, keeps = node.node_resources, node.reserved_resources
    return (
        max(0, has.cpu.cpu_shares - keeps.cpu.cpu_shares),
        max(0, has.memory.memory_mb - keeps.memory.memory_mb),
        max(0, has.disk.disk_mb - keeps.disk.disk_mb),
    )


def _labels(node: Node) -> dict[str, str]:
    return {
        "node_id": node.id,
        "datacenter": node.datacenter,
        "node_class": node.node_class or "none",
        "node_pool": node.node_pool,
        "node_status": node.status.value,
        "node_scheduling_eligibility": node.scheduling_eligibility.value,
    }
