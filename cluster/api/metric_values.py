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
from scheduler.structs.evaluation import LifecycleStep, Step
from scheduler.structs.node import Node

#: Evaluations whose steps tell how long things take.
RECENT = 300
_MS = 1_000_000
_SECOND = 1_000_000_000
_JOB_STATUSES = ("pending", "running", "dead")
#: Labels that name something.
_NAMING = frozenset({"job", "node_id", "eval_id"})
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


class Measurement(NamedTuple):
    """Everything at one moment."""

    at: int
    gauges: tuple[Gauge, ...]
    times: tuple[Times, ...]

    def without_names(self) -> "Measurement":
        """What may be told to anybody: nothing that names a job, a node or an evaluation."""
        plain = tuple(gauge for gauge in self.gauges if _NAMING.isdisjoint(gauge.labels))
        return self._replace(gauges=plain)


def measured(reader: RecordReader, news: LeaderNews | None, *, most: int, now: int) -> Measurement:
    """What there is to tell; `most`: of how many jobs and nodes one by one."""
    gauges = [
        *_of_leader(news, now),
        *_of_jobs(reader, most),
        *_of_nodes(reader, most),
        *_of_record(reader, now),
    ]
    return Measurement(now, tuple(gauges), tuple(_times(reader.recent_steps(RECENT))))


def _of_leader(news: LeaderNews | None, now: int) -> Iterator[Gauge]:
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
    for eval_id, until in broker.delayed.items():
        seconds = max(0, until - now) / _SECOND
        yield Gauge(f"{prefix}.eval_waiting", seconds, {"eval_id": eval_id})
    for name in ("total_blocked", "total_escaped", "total_quota_limit"):
        yield Gauge(f"nomad.nomad.blocked_evals.{name}", getattr(blocked, name))
    yield Gauge("nomad.nomad.plan.queue_depth", news.stats.plan_queue_depth)
    yield Gauge("bivouac.plans.taken", news.stats.plans_taken)
    yield Gauge("bivouac.worker.processes", news.stats.worker_processes)
    yield Gauge("bivouac.worker.busy_processes", news.stats.busy_worker_processes)


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
                "job": summary.job_id, "namespace": summary.namespace, "task_group": group
            }  # fmt: skip
            for name in _COUNTS:
                yield Gauge(f"nomad.nomad.job_summary.{name}", getattr(counts, name), labels)


def _of_nodes(reader: RecordReader, most: int) -> Iterator[Gauge]:
    by_status = _facet(reader, NODES, "status")
    for status, count in sorted(by_status.items()):
        yield Gauge("bivouac.nodes", count, {"status": status})
    yield Gauge("nomad.nomad.heartbeat.active", by_status.get("ready", 0))
    count = sum(by_status.values())
    yield Gauge("bivouac.metrics.nodes_left_out", count if count > most else 0)
    if count > most:
        return
    uses = {use.node_id: use.held for use in reader.list_all(NODE_USES)}
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
        allocs = held.alloc_count if held else 0
        yield Gauge("bivouac.client.allocations_held", allocs, labels)


def _of_record(reader: RecordReader, now: int) -> Iterator[Gauge]:
    for status, count in sorted(_facet(reader, ALLOCATIONS, "client_status").items()):
        yield Gauge("bivouac.allocations", count, {"client_status": status})
    for status, count in sorted(reader.open_tally(None).items()):
        yield Gauge("bivouac.evaluations", count, {"status": status})
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
    waited: dict[str, int] = {}
    for step in steps:
        lasted = step.duration_ns / _MS
        if step.step is Step.DEQUEUED:
            found["nomad.nomad.broker.wait_time"].append((step.at, lasted))
            waited[step.eval_id] = step.at
        elif step.step is Step.PLAN_SUBMITTED:
            found["bivouac.worker.schedule"].append((step.at, lasted))
        elif step.step is Step.PLAN_ANSWERED:
            found["nomad.nomad.plan.submit"].append((step.at, lasted))
        elif step.step in {Step.COMPLETE, Step.FAILED, Step.CANCELED} and step.eval_id in waited:
            took = (step.at - waited.pop(step.eval_id)) / _MS
            found["nomad.nomad.broker.process_time"].append((step.at, took))
    for name, values in sorted(found.items()):
        yield Times(name, tuple(values))


def _facet(reader: RecordReader, noun: Noun[Any, Any], column: str) -> dict[str, int]:
    rows = reader.facets(noun, (column,), Listing())
    return {str(value): int(count) for (value, *_), count in rows.items()}


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
