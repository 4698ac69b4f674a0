"""What allocations, machines and jobs use, as the page draws it: charts, sentences, a table.

In: the record, and the rows that agents told (None: they did not answer). Out: the context of
`usage.html` and of the panel within other pages. The record holds no row of usage.
"""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django.utils.translation import gettext

from cluster.operations.usage import JobUsage
from cluster.operations.usage_rows import AllocationRows, NodeRows, as_one
from cluster.page_addresses import job_url, job_usage_url
from cluster.store.ports import RecordReader
from dashboard.queries.checks import check_context
from dashboard.queries.left_out import missing_told
from dashboard.queries.usage_figures import SPANS, Reserved, UsageWish, drawn_usage
from dashboard.viewer import Absent, Viewer, crumbs
from dashboard.wording import count_of, number
from scheduler.structs.allocation import Allocation
from scheduler.structs.identity import JobKey

MIB = 1 << 20
#: A job of more running allocations is not added up before somebody asks.
MANY = 200


def allocation_usage_page(
    reader: RecordReader,
    viewer: Viewer,
    alloc_id: str,
    asked: UsageWish,
    told: AllocationRows | None,
    checks: object = None,
) -> dict[str, Any]:
    """The page of an allocation's usage. Raises Absent."""
    alloc = reader.allocation(alloc_id)
    if alloc is None or not viewer.sees(alloc.namespace):
        raise Absent
    node = reader.node(alloc.node_id)
    tasks = sorted(told.tasks if told else alloc.allocated_resources.tasks)
    chosen = asked.task if asked.task in tasks else ""
    address = f"/allocations/{alloc.id}/usage/"
    context = {
        "title": gettext("What {alloc} uses").format(alloc=alloc.name),
        "crumbs": crumbs(
            ("Jobs", "/jobs/"), (alloc.job_id, job_url(alloc.job_key)),
            (alloc.name, f"/allocations/{alloc.id}/"), ("usage", ""),
        ),
        "namespace": alloc.namespace,
        "choices": _choices(address, asked, tasks, chosen),
    } | check_context(checks)  # fmt: skip
    name = node.name if node is not None else alloc.node_name
    if told is None:
        return context | _away(
            address, asked, gettext("Node {name} does not answer").format(name=name)
        )
    if not told.since:
        return context | _unmeasured(
            address, asked, gettext("Node {name} is simulated").format(name=name)
        )
    columns = [told.tasks[name] for name in tasks if chosen in ("", name)]
    throttled = [
        value for each in columns for value in each.throttled_percent if value is not None
    ]
    drawn = drawn_usage(
        as_one(columns), _held_by(alloc, chosen), asked, now=told.now, since=told.since
    )
    if drawn.get("figures") and throttled:
        drawn["held_back"] = f"{sum(throttled) / len(throttled):.1f} %"
    return context | _panel(address, asked) | drawn | {"used_by": _used_by(told)}


def _used_by(told: AllocationRows) -> list[tuple[str, str, str]]:
    """What each task used last, for the table of tasks: column, task, number."""
    used = []
    for name, columns in sorted(told.tasks.items()):
        shares = [value for value in columns.cpu_ticks if value is not None]
        if shares:
            used.append(("cpu", name, number(round(shares[-1]))))
        if columns.memory_bytes:
            used.append(("memory", name, number(-(-columns.memory_bytes[-1] // MIB))))
    return used


def node_usage_page(
    reader: RecordReader, _viewer: Viewer, node_id: str, asked: UsageWish, told: NodeRows | None
) -> dict[str, Any]:
    """The page of a machine's usage. Raises Absent."""
    node = reader.node(node_id)
    if node is None:
        raise Absent
    name = node.name or node.id[:8]
    address = f"/nodes/{node.id}/usage/"
    context = {
        "title": gettext("What runs on {name} uses").format(name=name),
        "crumbs": crumbs(("Nodes", "/nodes/"), (name, f"/nodes/{node.id}/"), ("usage", "")),
        "choices": _choices(address, asked, (), ""),
        "of_machine": True,
    }
    if node.is_simulated:
        return context | _unmeasured(
            address, asked, gettext("Node {name} is simulated").format(name=name)
        )
    if told is None:
        return context | _away(
            address, asked, gettext("Node {name} does not answer").format(name=name)
        )
    there = node.node_resources
    whole = Reserved(
        word=gettext("it has"), cpu=there.cpu.cpu_shares, memory=there.memory.memory_mb * MIB
    )
    drawn = drawn_usage(as_one([told.machine]), whole, asked, now=told.now, since=told.since)
    return context | _panel(address, asked) | drawn


def job_usage_page(
    reader: RecordReader, viewer: Viewer, key: JobKey, asked: UsageWish, told: JobUsage
) -> dict[str, Any]:
    """The page of a job's usage. Raises Absent."""
    job = reader.job(key)
    if job is None or not viewer.sees(key.namespace):
        raise Absent
    address = job_usage_url(key)
    context = {
        "title": gettext("What {job} uses").format(job=job.id),
        "crumbs": crumbs(("Jobs", "/jobs/"), (job.id, job_url(key)), ("usage", "")),
        "namespace": key.namespace,
        "choices": _choices(address, asked, (), ""),
        "warnings": missing_told(reader, told, told.unmeasured if told.since else 0),
    }
    if not told.since:
        if told.away and told.away + told.unmeasured == told.asked:
            return context | _away(address, asked, gettext("No node of this job answers"))
        if told.asked:
            return context | _unmeasured(address, asked, gettext("Its nodes are simulated"))
        return context | _none(address, asked, gettext("Nothing of it runs"))
    silent = set(told.away_nodes) | set(told.unmeasured_nodes)
    counted = [
        each
        for each in reader.open_allocations(key, told.asked)
        if each.client_status == "running" and each.node_id not in silent
    ]
    reserved = Reserved(
        cpu=sum(_held_by(each, "").cpu for each in counted),
        memory=sum(_held_by(each, "").memory for each in counted),
    )
    drawn = drawn_usage(told.sums, reserved, asked, now=viewer.now, since=told.since)
    of = count_of(
        told.asked - told.away - told.unmeasured,
        "{count} running allocation",
        "{count} running allocations",
    )
    return (
        context | _panel(address, asked) | drawn | {"of": gettext("{of} together").format(of=of)}
    )


def _held_by(alloc: Allocation, task: str) -> Reserved:
    tasks = alloc.allocated_resources.tasks
    chosen = [held for name, held in tasks.items() if task in ("", name)]
    most = [held.memory.memory_max_mb or held.memory.memory_mb for held in chosen]
    memory = sum(held.memory.memory_mb for held in chosen)
    return Reserved(
        cpu=sum(held.cpu.cpu_shares for held in chosen),
        memory=memory * MIB,
        memory_max=sum(most) * MIB if sum(most) > memory else 0,
    )


def _choices(
    address: str, asked: UsageWish, tasks: Sequence[str], chosen: str
) -> dict[str, list[dict[str, Any]]]:
    """The links that show another span or another task."""

    def link(span: str, task: str) -> str:
        joint = "&" if "?" in address else "?"
        query = {"span": span} | ({"task": task} if task else {})
        return f"{address}{joint}{urlencode(query)}"

    spans = [
        {"word": word, "url": link(name, chosen), "is_current": name == asked.span}
        for name, word, _ in SPANS
    ]
    named = (
        [("", gettext("all tasks")), *((name, name) for name in tasks)] if len(tasks) > 1 else []
    )
    return {
        "spans": spans,
        "tasks": [
            {"word": word, "url": link(asked.span, name), "is_current": name == chosen}
            for name, word in named
        ],
    }


def _panel(address: str, asked: UsageWish) -> dict[str, Any]:
    return {"address": address, "span": asked.span, "figures": (), "problem": ""}


def _away(address: str, asked: UsageWish, who: str) -> dict[str, Any]:
    return _panel(address, asked) | {
        "problem": "away",
        "strong": f"{who}.",
        "text": gettext(
            "What is used there is not known until it does; the agent keeps the past hour."
        ),
    }


def _unmeasured(address: str, asked: UsageWish, who: str) -> dict[str, Any]:
    return _panel(address, asked) | {
        "problem": "unmeasured",
        "strong": f"{who}.",
        "text": gettext("Nothing runs for real, so nothing is measured."),
    }


def _none(address: str, asked: UsageWish, strong: str) -> dict[str, Any]:
    return _panel(address, asked) | {
        "problem": "none",
        "strong": f"{strong}.",
        "text": gettext("What is used is measured from the start of a task on, each ten seconds."),
    }
