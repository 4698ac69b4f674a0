"""Namespaces and quotas: what each holds, of what it may hold, and by whom.

In: a reader and who looks. Out: the contexts of their pages. Sums are kept by the record; the
jobs that hold most are summed by the database.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from django.utils.translation import gettext, ngettext
from msgspec.structs import astuple

from cluster.store.ports import JobsFace, Namespaces, RecordReader
from dashboard.governance import LISTED, Share, namespace_sentence, quota_sentence, quota_shares
from dashboard.queries.holders import MAX_HOLDERS, job_holders
from dashboard.rights import QUOTA_READ
from dashboard.subscription import Subscription, topic_text
from dashboard.viewer import Absent, Viewer, crumbs
from dashboard.wording import count_of
from scheduler.state.nouns import NAMESPACE_USES, NAMESPACES, QUOTAS
from scheduler.structs.identity import DEFAULT_NODE_POOL
from scheduler.structs.job import Namespace, NamespaceCapabilities, NamespacePoolRules
from scheduler.structs.quota import QuotaAmounts, QuotaSpec


class NamespaceLine(msgspec.Struct, frozen=True, kw_only=True):
    """One namespace of a list; with its share of a quota where one is told."""

    namespace: Namespace
    jobs: JobsFace
    use: QuotaAmounts
    shares: tuple[Share, ...] = ()


class QuotaLine(msgspec.Struct, frozen=True, kw_only=True):
    """One quota of the list."""

    quota: QuotaSpec
    shares: tuple[Share, ...]
    namespaces: tuple[str, ...]


def namespaces_page(reader: RecordReader, viewer: Viewer) -> dict[str, Any]:
    """The context of the list."""
    return {
        **_listed(reader, viewer.namespaces),
        "crumbs": crumbs(("Namespaces", "")),
        "live_topics": "namespaces",
    }


def namespaces_panel(
    reader: RecordReader, subscription: Subscription, _now: int
) -> Mapping[str, Any]:
    """What of the list a live frame renders again."""
    return _listed(reader, subscription.namespaces)


def namespace_page(reader: RecordReader, viewer: Viewer, *, name: str) -> dict[str, Any]:
    """The context of one namespace. Raises Absent."""
    parts = _one(reader, name) if viewer.sees(name) else None
    if parts is None:
        raise Absent
    return {
        **parts,
        "sees_quotas": viewer.access.reads("quota"),
        "crumbs": crumbs(("Namespaces", "/namespaces/"), (name, "")),
        "live_topics": topic_text("namespaces", name),
    }


def namespace_panel(
    reader: RecordReader, subscription: Subscription, _now: int
) -> Mapping[str, Any]:
    """What of it a live frame renders again; `space` is None once it is gone."""
    parts = _one(reader, subscription.key) or {"space": None}
    return {**parts, "sees_quotas": QUOTA_READ in subscription.may}


def quotas_page(reader: RecordReader, viewer: Viewer) -> dict[str, Any]:
    """The context of the list."""
    return {
        **_quotas(reader),
        "crumbs": crumbs(("Quotas", "")),
        "live_topics": "quotas",
        "may_write": viewer.access.writes("quota"),
    }


def quotas_panel(
    reader: RecordReader, _subscription: Subscription, _now: int
) -> Mapping[str, Any]:
    """What of the list a live frame renders again."""
    return _quotas(reader)


def quota_page(reader: RecordReader, viewer: Viewer, *, name: str) -> dict[str, Any]:
    """The context of one quota. Raises Absent."""
    parts = _quota(reader, name)
    if parts is None:
        raise Absent
    return {
        **parts,
        "crumbs": crumbs(("Quotas", "/quotas/"), (name, "")),
        "live_topics": topic_text("quotas", name),
        "may_write": viewer.access.writes("quota"),
    }


def quota_panel(reader: RecordReader, subscription: Subscription, _now: int) -> Mapping[str, Any]:
    """What of it a live frame renders again; `quota` is None once it is gone."""
    return _quota(reader, subscription.key) or {"quota": None}


def _listed(reader: RecordReader, namespaces: Namespaces) -> dict[str, Any]:
    jobs, uses = reader.jobs_by_namespace(namespaces), _uses(reader)
    lines = [
        NamespaceLine(
            namespace=space,
            jobs=jobs.get(space.name, JobsFace()),
            use=uses.get(space.name, QuotaAmounts()),
        )
        for space in reader.list_all(NAMESPACES)
        if namespaces is None or space.name in namespaces
    ]
    limited = sum(bool(line.namespace.quota) for line in lines)
    told = gettext("counts against a quota") if limited == 1 else gettext("count against quotas")
    return {
        "lines": lines,
        "strong": f"{count_of(len(lines), '{count} namespace', '{count} namespaces')}.",
        "rest": f"{limited} {told}." if limited else gettext("None counts against a quota."),
    }


def _one(reader: RecordReader, name: str) -> dict[str, Any] | None:
    space = reader.get(NAMESPACES, name)
    if space is None:
        return None
    jobs = reader.jobs_by_namespace({name}).get(name, JobsFace())
    use = reader.namespace_use(name)
    quota = reader.get(QUOTAS, space.quota) if space.quota else None
    strong, rest = namespace_sentence(jobs, use)
    return {
        "space": space,
        "jobs": jobs,
        "use": use,
        "strong": strong,
        "rest": rest,
        "quota": quota,
        "own_shares": quota_shares(quota.limits if quota is not None else QuotaAmounts(), use),
        "rules": _rules(space),
        **job_holders(reader.held_by_job({name}, MAX_HOLDERS), use.cpu, use.memory_mb),
    }


def _rules(space: Namespace) -> list[tuple[str, str]]:
    """What its jobs may and may not use, where anything is said."""
    may = space.capabilities or NamespaceCapabilities()
    pools = space.node_pool_configuration or NamespacePoolRules()
    only_default = (pools.default or DEFAULT_NODE_POOL,) if pools.allowed is not None else ()
    told = (
        (gettext("Drivers allowed"), may.enabled_task_drivers),
        (gettext("Drivers forbidden"), may.disabled_task_drivers),
        (gettext("Network modes allowed"), may.enabled_network_modes),
        (gettext("Network modes forbidden"), may.disabled_network_modes),
        (
            gettext("Node pools allowed"),
            tuple(dict.fromkeys((*only_default, *(pools.allowed or ())))),
        ),
        (gettext("Node pools forbidden"), pools.denied),
        (gettext("Node pool of jobs that name none"), (pools.default,) if pools.default else ()),
    )
    return [(word, ", ".join(names)) for word, names in told if names]


def _quotas(reader: RecordReader) -> dict[str, Any]:
    spaces: dict[str, list[str]] = {}
    for space in reader.list_all(NAMESPACES):
        if space.quota:
            spaces.setdefault(space.quota, []).append(space.name)
    uses = _uses(reader)
    quotas = [
        (quota, quota_shares(quota.limits, _together(uses, spaces.get(quota.name, []))))
        for quota in reader.list_all(QUOTAS)
    ]
    lines = [
        QuotaLine(
            quota=quota,
            shares=shares[: len(LISTED)],
            namespaces=tuple(spaces.get(quota.name, ())),
        )
        for quota, shares in quotas
    ]
    full = sum(any(share.is_full for share in shares) for _, shares in quotas)
    rest = (
        ngettext("{full} is used up.", "{full} are used up.", full).format(full=full)
        if full
        else gettext("None is used up.")
    )
    return {
        "lines": lines,
        "strong": f"{count_of(len(lines), '{count} quota', '{count} quotas')}.",
        "rest": rest if lines else gettext("Namespaces take what they need."),
    }


def _quota(reader: RecordReader, name: str) -> dict[str, Any] | None:
    quota = reader.get(QUOTAS, name)
    if quota is None:
        return None
    spaces = [space for space in reader.list_all(NAMESPACES) if space.quota == name]
    uses = _uses(reader)
    shares = quota_shares(quota.limits, _together(uses, [space.name for space in spaces]))
    strong, rest = quota_sentence(shares, [space.name for space in spaces])
    counted = reader.jobs_by_namespace({space.name for space in spaces}) if spaces else {}
    return {
        "quota": quota,
        "shares": shares,
        "strong": strong,
        "rest": rest,
        "sharers": [
            NamespaceLine(
                namespace=space,
                jobs=counted.get(space.name, JobsFace()),
                use=uses.get(space.name, QuotaAmounts()),
                shares=quota_shares(quota.limits, uses.get(space.name, QuotaAmounts()))[
                    : len(LISTED)
                ],
            )
            for space in spaces
        ],
    }


def _uses(reader: RecordReader) -> dict[str, QuotaAmounts]:
    return {each.namespace: each.used for each in reader.list_all(NAMESPACE_USES)}


def _together(uses: Mapping[str, QuotaAmounts], names: Iterable[str]) -> QuotaAmounts:
    held = [astuple(uses[name]) for name in names if name in uses]
    return QuotaAmounts(*(sum(column) for column in zip(*held, strict=True)))
