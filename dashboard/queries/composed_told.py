"""What stands beside a composed change: how many nodes it means, what is set now; what to choose.

In: a reader, a viewer, rows, all nodes. Out: words and choices. What a viewer may not read is not
told, and the change can be rehearsed as far as the viewer's rights go all the same.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from django.utils.translation import gettext

from cluster.operations.errors import OperationRefused
from cluster.operations.filter_expression import compile_filter
from cluster.rehearsal.scenario import WHOLE
from cluster.store.ports import Listing, NodePlace, RecordReader
from dashboard.fleet_totals import NO_SUM
from dashboard.queries.composed import (
    FIRST,
    KINDS,
    WHERES,
    AskedChange,
    filter_of,
    job_named,
    rack_key_of,
)
from dashboard.topology import MappedNodes
from dashboard.viewer import Viewer
from dashboard.wording import amount, count_of, natural, number
from scheduler.state import nouns
from scheduler.state.nouns import NAMESPACE_USES, NAMESPACES, QUOTAS
from scheduler.structs.identity import DEFAULT_NAMESPACE
from scheduler.structs.quota import QuotaSpec
from scheduler.structs.scheduler_settings import SchedulerAlgorithm

#: Names that a field suggests, and jobs among which it looks.
_MOST_NAMES = 200
_MOST_JOBS = 100


class ComposedRow(msgspec.Struct, frozen=True, kw_only=True):
    """One row, ready to be written."""

    number: int
    kind: str
    #: What stands in each field.
    values: dict[str, str]
    told: str = ""


class Composer:
    """The rows and their choices, as one viewer may know them."""

    def __init__(self, reader: RecordReader, viewer: Viewer, fleet: MappedNodes) -> None:
        self._reader = reader
        self._viewer = viewer
        self._fleet = fleet
        self._rack_key = rack_key_of(fleet.rack_label)
        reads = viewer.access.reads
        self._sees_quotas, self._sees_settings = reads("quota"), reads("operator")
        self._quotas: Sequence[QuotaSpec] = reader.list_all(QUOTAS) if self._sees_quotas else ()

    def shown(self, rows: Sequence[AskedChange]) -> dict[str, Any]:
        """What the form needs."""
        return {
            "rows": [self._row(place, row) for place, row in enumerate(rows or [FIRST], 1)],
            "kinds": {key: gettext(word) for key, word in KINDS.items()},
            "wheres": {key: gettext(word) for key, word in WHERES.items()},
            "algorithms": {
                SchedulerAlgorithm.BINPACK.value: gettext("full nodes (binpack)"),
                SchedulerAlgorithm.SPREAD.value: gettext("empty nodes (spread)"),
            },
            "quotas": [quota.name for quota in self._quotas],
            "namespaces": self._namespaces(),
            "place_names": self._place_names(),
            "like_names": self._like_names(),
            "job_names": self._job_names(),
        }

    def _row(self, place: int, row: AskedChange) -> ComposedRow:
        fields = ("where", "is", "share", "deadline", "many", "like", "prefer", "quota", "memory",
                  "cpu", "job", "namespace", "count")  # fmt: skip
        values = {field: row.told(field) for field in fields}
        values["namespace"] = values["namespace"] or self._viewer.chosen or DEFAULT_NAMESPACE
        return ComposedRow(number=place, kind=row.kind, values=values, told=self._told(row))

    # What stands beside a row.

    def _told(self, row: AskedChange) -> str:
        match row.kind:
            case "lose" | "drain" | "close" | "open":
                return self._nodes_told(row)
            case "add":
                return self._like_told(row)
            case "algorithm":
                return self._algorithm_told()
            case "quota":
                return self._quota_told(row)
            case _:
                return self._job_told(row)

    def _nodes_told(self, row: AskedChange) -> str:
        if not row.told("is"):
            return ""
        try:
            chosen = self._chosen(row)
        except OperationRefused as refusal:
            return str(refusal)
        if not chosen:
            return gettext("no node is like that")
        held = sum(self._fleet.sums.get(node.id, NO_SUM).allocations for node in chosen)
        return gettext("{nodes}, {allocations}").format(
            nodes=count_of(len(chosen), "{count} node", "{count} nodes"),
            allocations=count_of(held, "{count} allocation", "{count} allocations"),
        )

    def _chosen(self, row: AskedChange) -> list[NodePlace]:
        """The nodes that a row means; of a share as many as the rehearsal takes."""
        places, value = self._fleet.places, row.told("is")
        if row.told("where") == "filter":
            wants = compile_filter(filter_of(row, self._rack_key)).wants
            found = [
                places[node.id]
                for node in self._reader.nodes()
                if wants(node) and node.id in places
            ]
        else:
            found = [node for node in places.values() if self._is(node, row.told("where"), value)]
        share = row.told("share")
        if not share.isdigit() or not 0 < int(share) < WHOLE:
            return found
        ordered = sorted(found, key=lambda node: (node.datacenter, node.name, node.id))
        return [
            node
            for place, node in enumerate(ordered)
            if (place + 1) * int(share) // WHOLE > place * int(share) // WHOLE
        ]

    def _is(self, node: NodePlace, where: str, value: str) -> bool:
        if where == "rack":
            label = max(self._fleet.rack_label, 0)
            return len(node.labels) > label and node.labels[label] == value
        has = {
            "class": node.node_class, "datacenter": node.datacenter,
            "pool": node.pool, "name": node.name,
        }  # fmt: skip
        return has.get(where) == value

    def _like_told(self, row: AskedChange) -> str:
        like = row.told("like")
        if not like:
            return ""
        named = (node for node in self._fleet.places.values() if like in (node.name, node.id))
        node = next(named, None)
        if node is None:
            return gettext("no node has that name")
        of_class = gettext("{name}, ").format(name=node.node_class) if node.node_class else ""
        return gettext("{of_class}{cpu}, {memory} each").format(
            of_class=of_class,
            cpu=amount(node.cpu_mhz, "MHz"),
            memory=amount(node.memory_mb, "MiB"),
        )

    def _algorithm_told(self) -> str:
        if not self._sees_settings:
            return ""
        words = {
            SchedulerAlgorithm.BINPACK.value: gettext("now: full nodes (binpack)"),
            SchedulerAlgorithm.SPREAD.value: gettext("now: empty nodes (spread)"),
        }
        return words.get(self._reader.scheduler_settings().scheduler_algorithm, "")

    def _quota_told(self, row: AskedChange) -> str:
        wanted = row.told("quota") or (self._quotas[0].name if self._quotas else "")
        quota = next((each for each in self._quotas if each.name == wanted), None)
        if quota is None:
            return gettext("no quota has that name") if self._sees_quotas and wanted else ""
        spaces = [
            each.name for each in self._reader.list_all(NAMESPACES) if each.quota == quota.name
        ]
        uses = [
            each.used for each in self._reader.list_all(NAMESPACE_USES) if each.namespace in spaces
        ]
        limits = quota.limits
        return gettext("now {memory}, {cpu}").format(
            memory=_limit_told(sum(use.memory_mb for use in uses), limits.memory_mb, "MiB"),
            cpu=_limit_told(sum(use.cpu for use in uses), limits.cpu, "MHz"),
        )

    def _job_told(self, row: AskedChange) -> str:
        if not row.told("job"):
            return ""
        key, name = job_named(self._reader, row)
        job = self._reader.job(key) if self._viewer.sees(key.namespace) else None
        if job is None:
            return gettext("no job that you may see has this id")
        groups = [group for group in job.task_groups if not name or group.name == name]
        if not groups:
            return gettext("it has no such group")
        wanted = number(sum(group.count for group in groups))
        if len(groups) > 1 and row.kind == "count":
            return gettext("it has {groups}: name one after a dot").format(
                groups=count_of(len(groups), "{count} group", "{count} groups")
            )
        return gettext("now {count}").format(count=wanted)

    # What fields suggest.

    def _namespaces(self) -> list[str]:
        names = [each.name for each in self._reader.list_all(NAMESPACES)]
        return sorted(name for name in names if self._viewer.sees(name))

    def _place_names(self) -> list[str]:
        label = self._fleet.rack_label
        names: set[str] = set()
        for node in self._fleet.places.values():
            names |= {node.node_class, node.datacenter, node.pool}
            names |= {node.labels[label]} if label >= 0 else set()
        return _natural(names - {""})

    def _like_names(self) -> list[str]:
        """One node of each class, the first by name."""
        first: dict[tuple[str, int, int], str] = {}
        for node in self._fleet.places.values():
            kind = node.node_class, node.cpu_mhz, node.memory_mb
            best = first.get(kind)
            if best is None or natural(node.name) < natural(best):
                first[kind] = node.name
        return _natural(first.values())

    def _job_names(self) -> list[str]:
        listing = Listing(
            prefix="", namespaces=self._viewer.looks_at, equals={}, limit=_MOST_JOBS, by_id=True
        )
        return [
            f"{job.id}.{group.name}" if len(job.task_groups) > 1 else job.id
            for job in self._reader.page(nouns.JOBS, listing)
            for group in job.task_groups
        ]


def _limit_told(used: int, limit: int, unit: str) -> str:
    if not limit:
        return gettext("{unit} without limit").format(unit=unit)
    most = max(limit, 0)
    share = f", {used * 100 // most} %" if most else ""
    return gettext("{used} of {most}{share}").format(
        used=number(used), most=amount(most, unit), share=share
    )


def _natural(names: Iterable[str]) -> list[str]:
    return sorted(names, key=natural)[:_MOST_NAMES]
