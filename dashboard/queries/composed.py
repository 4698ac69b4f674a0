"""Changes composed on the page *What if*: rows of fields, as an address keeps them.

In: fields of an address or a form, or the scenario of a rehearsal. Out: rows; the changes that
they name, in the form that programs send. What a row names wrongly is complained about there.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from django.utils.translation import gettext_noop

from cluster.rehearsal.scenario import (
    WHOLE,
    AddNodes,
    ChangeQuota,
    ChangeSettings,
    DrainNodes,
    LoseNodes,
    MarkNodes,
    NodeChoice,
    ScaleJob,
    Scenario,
    ScenarioChange,
    StopJob,
)
from cluster.store.ports import RecordReader
from dashboard.topology import rack_keys, rack_label
from scheduler.ports import StateReader
from scheduler.state.nouns import QUOTAS
from scheduler.structs.identity import DEFAULT_NAMESPACE, JobKey
from scheduler.structs.node import NodeEligibility
from scheduler.structs.wire import wire_name

Change = dict[str, Any]

#: What a row may do, and how that is called.
KINDS = {
    "lose": gettext_noop("Lose nodes"),
    "drain": gettext_noop("Drain nodes"),
    "close": gettext_noop("Set nodes ineligible"),
    "open": gettext_noop("Set nodes eligible"),
    "add": gettext_noop("Add nodes"),
    "algorithm": gettext_noop("Algorithm"),
    "quota": gettext_noop("Quota"),
    "count": gettext_noop("Count of a job"),
    "stop": gettext_noop("Stop a job"),
}
#: By what nodes are chosen.
WHERES = {
    "rack": gettext_noop("rack"),
    "class": gettext_noop("class"),
    "datacenter": gettext_noop("datacenter"),
    "pool": gettext_noop("pool"),
    "name": gettext_noop("name"),
    "filter": gettext_noop("filter expression"),
}
#: The fields of each kind.
FIELDS = {
    "lose": ("where", "is", "share"),
    "drain": ("where", "is", "share", "deadline"),
    "close": ("where", "is", "share"),
    "open": ("where", "is", "share"),
    "add": ("many", "like"),
    "algorithm": ("prefer",),
    "quota": ("quota", "memory", "cpu"),
    "count": ("job", "namespace", "count"),
    "stop": ("job", "namespace"),
}
#: Kinds that choose nodes.
OF_NODES = frozenset({"lose", "drain", "close", "open"})
_ELIGIBILITY = {"close": NodeEligibility.INELIGIBLE, "open": NodeEligibility.ELIGIBLE}
#: What stands there before anybody chose.
_USUAL = {"where": "rack", "share": "100", "deadline": "1h"}
MOST_ROWS = 20
_MOST_DIGITS = 12
_LONGEST = 1_000
_NAME = re.compile(r"([1-9][0-9]?)-([a-z]+)")
_SELECTORS = {
    "class": "NodeClass",
    "datacenter": "Datacenter",
    "pool": "NodePool",
    "name": "Name",
}
_MAPS = {"meta": "Meta", "attr": "Attributes"}


class AskedChange(NamedTuple):
    """One row: what it does, and what was written into its fields."""

    kind: str
    fields: Mapping[str, str]

    def told(self, field: str) -> str:
        """What is written there; what usually is, where nothing was."""
        return self.fields.get(field, _USUAL.get(field, ""))


FIRST = AskedChange("lose", {})


def rows_of_fields(given: Mapping[str, str]) -> list[AskedChange]:
    """The rows of an address or a form, in their order; fields of other kinds are left out."""
    found: dict[int, dict[str, str]] = {}
    for name, value in given.items():
        if (match := _NAME.fullmatch(name)) and int(match[1]) <= MOST_ROWS:
            found.setdefault(int(match[1]), {})[match[2]] = value.strip()[:_LONGEST]
    return [
        AskedChange(kind, {field: fields[field] for field in FIELDS[kind] if field in fields})
        for _, fields in sorted(found.items())
        if (kind := fields.get("kind", "")) in FIELDS
    ]


def fields_of_rows(rows: Iterable[AskedChange]) -> dict[str, str]:
    """The same as fields, without what says nothing."""
    fields = {}
    for number, row in enumerate(rows, 1):
        fields[f"{number}-kind"] = row.kind
        told = ((field, row.fields.get(field, "")) for field in FIELDS[row.kind])
        fields |= {
            f"{number}-{field}": value
            for field, value in told
            if value and value != _USUAL.get(field)
        }
    return fields


def documents_of(reader: RecordReader, rows: Sequence[AskedChange]) -> list[Change]:
    """The changes that the rows name, in the form that programs send."""
    rack_key = ""
    if any(row.told("where") == "rack" for row in rows if row.kind in OF_NODES):
        rack_key = rack_key_of(rack_label(reader.node_places(rack_keys())))
    return [_document(reader, row, rack_key) for row in rows]


def _document(reader: StateReader, row: AskedChange, rack_key: str) -> Change:
    told = row.told
    match row.kind:
        case "lose":
            return {"Lose": _choice(row, rack_key)}
        case "drain":
            return {"Drain": {**_choice(row, rack_key), "Spec": {"Deadline": told("deadline")}}}
        case "close" | "open":
            wanted = _ELIGIBILITY[row.kind].value
            return {"Eligibility": {**_choice(row, rack_key), "Eligibility": wanted}}
        case "add":
            like = _node_called(reader, told("like"))
            return {"Add": {"Like": like, "Count": _number(told("many"))}}
        case "algorithm":
            return {"Settings": {"SchedulerAlgorithm": told("prefer")}}
        case "quota":
            return {"Quota": _quota(reader, row)}
        case "count":
            key, group = job_named(reader, row)
            return {"Scale": {**_job(key), "Group": group, "Count": _number(told("count"))}}
        case _:
            key, group = job_named(reader, row)
            # Of a job as a whole: a group's name does not belong to it.
            job_id = f"{key.job_id}.{group}" if group else key.job_id
            return {"Stop": {"JobID": job_id, "Namespace": key.namespace}}


def _choice(row: AskedChange, rack_key: str) -> Change:
    share = row.told("share")
    return {
        "Filter": filter_of(row, rack_key),
        **({} if share in {"", str(WHOLE)} else {"Share": _number(share)}),
    }


def filter_of(row: AskedChange, rack_key: str) -> str:
    """The filter expression of the nodes that a row chooses."""
    where, value = row.told("where"), row.told("is")
    if where == "filter" or not value:
        return value
    selector = _SELECTORS.get(where) or _selector_of(rack_key)
    return f"{selector} == {json.dumps(value, ensure_ascii=False)}"


def _selector_of(key: str) -> str:
    kind, _, name = key.partition(".")
    return f"{_MAPS.get(kind, kind)}[{json.dumps(name)}]"


def _job(key: JobKey) -> Change:
    return {"JobID": key.job_id, "Namespace": key.namespace}


def job_named(reader: StateReader, row: AskedChange) -> tuple[JobKey, str]:
    """The job and the group of `job.group`; ids of jobs may have dots of their own."""
    namespace, text = row.told("namespace") or DEFAULT_NAMESPACE, row.told("job")
    whole = JobKey(namespace, text)
    job_id, dot, group = text.rpartition(".")
    if not dot or reader.job(whole) is not None:
        return whole, ""
    part = JobKey(namespace, job_id)
    return (part, group) if reader.job(part) is not None else (whole, "")


def _node_called(reader: StateReader, name: str) -> str:
    named = (node.id for node in reader.nodes() if node.name == name) if name else iter(())
    return next(named, name)


def _quota(reader: StateReader, row: AskedChange) -> Change:
    name = row.told("quota")
    limits = {}
    for field, attribute in (("memory", "memory_mb"), ("cpu", "cpu")):
        if text := row.told(field):
            limits[wire_name(attribute)] = _limit(reader, name, attribute, text)
    return {"Name": name, "Limits": limits}


def _limit(reader: StateReader, name: str, attribute: str, text: str) -> int | str | None:
    """A limit; `+ 1024` and `- 1024` are taken from the one that is set."""
    sign, more = text[:1], _number(text[1:].strip())
    quota = reader.get(QUOTAS, name) if sign in {"+", "-", "\N{MINUS SIGN}"} else None
    if quota is None or not isinstance(more, int):
        return _number(text)
    now: int = getattr(quota.limits, attribute)
    return now + more if sign == "+" else max(now - more, 0)


def _number(text: str) -> int | str | None:
    """A whole number; what is none is complained about with its place."""
    text = "".join(text.split())
    is_number = text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
    return int(text) if is_number else text or None


def rows_of_scenario(
    reader: StateReader, scenario: Scenario, rack_key: str
) -> list[AskedChange] | None:
    """The rows that would ask the same; None where the form cannot ask it."""
    rows = [_row_of(reader, change, rack_key) for change in scenario.changes]
    if len(rows) > MOST_ROWS or None in rows:
        return None
    return [row for row in rows if row is not None]


def _row_of(reader: StateReader, change: ScenarioChange, rack_key: str) -> AskedChange | None:
    match change:
        case LoseNodes(nodes=nodes) if nodes.filter:
            return AskedChange("lose", _chosen(nodes, rack_key))
        case DrainNodes(nodes=nodes) if nodes.filter and _is_plain(change):
            fields = {**_chosen(nodes, rack_key), "deadline": _span(change.deadline)}
            return AskedChange("drain", fields)
        case MarkNodes(nodes=nodes, eligibility=wanted) if nodes.filter:
            kind = "open" if wanted is NodeEligibility.ELIGIBLE else "close"
            return AskedChange(kind, _chosen(nodes, rack_key))
        case AddNodes(like=like, count=count):
            node = reader.node(like)
            name = node.name if node is not None else like
            return AskedChange("add", {"many": str(count), "like": name})
        case ChangeSettings(algorithm=str(algorithm)) if change == ChangeSettings(
            algorithm=algorithm
        ):
            return AskedChange("algorithm", {"prefer": algorithm})
        case ChangeQuota(name=name, limits=limits) if limits.keys() <= {"memory_mb", "cpu"}:
            words = (("memory", "memory_mb"), ("cpu", "cpu"))
            given = {field: str(limits[each]) for field, each in words if each in limits}
            return AskedChange("quota", {"quota": name, **given})
        case ScaleJob(key=key, group=group, count=count):
            job = f"{key.job_id}.{group}" if group else key.job_id
            fields = {"job": job, "namespace": key.namespace, "count": str(count)}
            return AskedChange("count", fields)
        case StopJob(key=key, purge=False):
            return AskedChange("stop", {"job": key.job_id, "namespace": key.namespace})
        case _:
            return None


def _span(nanoseconds: int) -> str:
    """As people write it: `1h`, `90m`."""
    seconds = nanoseconds // 10**9
    for unit, length in (("h", 3600), ("m", 60)):
        if seconds and not seconds % length:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


def _is_plain(change: DrainNodes) -> bool:
    return change == DrainNodes(nodes=change.nodes, deadline=change.deadline)


def _chosen(choice: NodeChoice, rack_key: str) -> dict[str, str]:
    """Where, is and share of nodes that a filter chooses."""
    share = {"share": str(choice.share)}
    selectors = {**_SELECTORS, "rack": _selector_of(rack_key)}
    for where, selector in selectors.items():
        before = f"{selector} == "
        value = choice.filter.removeprefix(before)
        if value == choice.filter:
            continue
        try:
            plain = msgspec.json.decode(value, type=str)
        except msgspec.MsgspecError:
            continue
        return {"where": where, "is": plain, **share}
    return {"where": "filter", "is": choice.filter, **share}


def rack_key_of(label: int) -> str:
    """Which key says the rack: the one nodes have, else the one that comes first."""
    return rack_keys()[max(label, 0)]
