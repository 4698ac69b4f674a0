"""What stands between one more allocation of a group and each node: reasons with their nodes.

In: the stored explanation of one group (GroupExplanation) and node names. Out: verdicts whose
counts add up to the candidates. Filtered = could never; exhausted = no room now.
"""

from collections.abc import Iterable, Mapping
from zlib import crc32

import msgspec

from dashboard.graphs.placement import (
    ScoredNode,
    has_bars,
    ranked,
    reach_below,
    score_columns,
)
from dashboard.texts import gettext
from dashboard.wording import amount, count_of, dimension_word, number, refusal_told, short_id
from scheduler.structs.explanation import GroupExplanation, RefusedNodes, Shortfall

#: Nodes named under one reason; the rest is counted.
MOST_NAMED = 60
#: A reason with this many nodes or fewer shows them without being asked.
SHOWN_AT_ONCE = 6
#: Beside a shortfall; the words of the nearest miss use the same.
_UNITS = {"cpu": "MHz", "memory": "MiB", "disk": "MiB"}


class NamedNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node under a reason."""

    id: str
    name: str
    #: What it lacks: `200 MiB`; "" where the reason is no amount.
    lacks: str = ""


class NodesKeptOut(msgspec.Struct, frozen=True, kw_only=True):
    """One reason, and the nodes it keeps out."""

    #: `exhausted` or `filtered`.
    kind: str
    reason: str
    count: int
    nodes: tuple[NamedNode, ...] = ()

    @property
    def slug(self) -> str:
        """Names it in a page whatever its place: a reason may hold what an id may not."""
        return f"{self.kind}-{crc32(self.reason.encode()):08x}"

    @property
    def for_how_long(self) -> str:
        """Of nodes that were filtered, whether they could ever run it."""
        return refusal_told(self.reason)

    @property
    def is_amount(self) -> bool:
        """Whether the nodes lack so much of something, the nearest one first."""
        return bool(self.nodes and self.nodes[0].lacks)

    @property
    def more(self) -> int:
        """Nodes that are counted and not named."""
        return self.count - len(self.nodes)

    @property
    def is_short(self) -> bool:
        """Whether its nodes can be shown at once."""
        return 0 < self.count <= SHOWN_AT_ONCE


class ExplanationView(msgspec.Struct, frozen=True, kw_only=True):
    """One group's explanation, ready to be written."""

    group: str
    #: Such as: `20 nodes: 16 exhausted, 3 filtered, 1 with room for one more.`, after the quota.
    sentence: str
    #: As a sentence; "" for a group that was placed whole.
    nearest_miss: str
    #: Not the nodes, but its namespace's quota keeps the group waiting; `nearest_miss` names it.
    is_over_quota: bool = False
    verdicts: tuple[NodesKeptOut, ...]
    with_room: int
    columns: tuple[str, ...]
    candidates: tuple[ScoredNode, ...]

    @property
    def has_bars(self) -> bool:
        """Whether any of the scores is not 0."""
        return has_bars(self.candidates)

    @property
    def has_below(self) -> bool:
        """Whether any of the scores is below 0."""
        return reach_below(candidate.final for candidate in self.candidates)


def explanation_view(
    found: GroupExplanation,
    node_names: Mapping[str, str],
    *,
    chosen: str = "",
    most: int = MOST_NAMED,
) -> ExplanationView:
    """The view of one group; `chosen` is the node that its newest decision took, if any.

    Under each reason at most `most` nodes are named.
    """
    columns = score_columns(found.best)
    exhausted = tuple(_exhausted(item, node_names, most) for item in found.exhausted)
    filtered = tuple(_filtered(item, node_names, most) for item in found.refused)
    return ExplanationView(
        group=found.task_group,
        sentence=_sentence(found),
        nearest_miss=_nearest_miss(found),
        is_over_quota=bool(found.quota_exhausted),
        verdicts=exhausted + filtered,
        with_room=found.with_room,
        columns=columns,
        candidates=ranked(found.best, columns, node_names, chosen=chosen),
    )


def nodes_named(found: GroupExplanation, most: int = MOST_NAMED) -> frozenset[str]:
    """The ids of all nodes that the view names."""
    reasons: Iterable[Shortfall | RefusedNodes] = (*found.exhausted, *found.refused)
    listed = {node_id for reason in reasons for node_id in reason.node_ids[:most]}
    return frozenset(listed | {score.node_id for score in found.best})


def _exhausted(shortfall: Shortfall, names: Mapping[str, str], most: int) -> NodesKeptOut:
    unit = _UNITS.get(shortfall.dimension, "")
    word = dimension_word(shortfall.dimension)
    listed = shortfall.node_ids[:most]
    missing = shortfall.missing[:most] if unit else ()
    if len(missing) < len(listed):
        return _verdict("exhausted", word, shortfall.count, _named(listed, names))
    lacking = sorted(
        (lacks, _name(node_id, names), node_id)
        for lacks, node_id in zip(missing, listed, strict=True)
    )
    nodes = tuple(
        NamedNode(id=node_id, name=name, lacks=amount(lacks, unit))
        for lacks, name, node_id in lacking
    )
    return _verdict("exhausted", word, shortfall.count, nodes)


def _filtered(refused: RefusedNodes, names: Mapping[str, str], most: int) -> NodesKeptOut:
    nodes = _named(refused.node_ids[:most], names)
    return _verdict("filtered", refused.reason.rstrip(), refused.count, nodes)


def _verdict(kind: str, reason: str, count: int, nodes: tuple[NamedNode, ...]) -> NodesKeptOut:
    return NodesKeptOut(kind=kind, reason=reason, count=count, nodes=nodes)


def _named(node_ids: Iterable[str], names: Mapping[str, str]) -> tuple[NamedNode, ...]:
    by_name = sorted((_name(node_id, names), node_id) for node_id in node_ids)
    return tuple(NamedNode(id=node_id, name=name) for name, node_id in by_name)


def _name(node_id: str, names: Mapping[str, str]) -> str:
    return names.get(node_id) or short_id(node_id)


def _nearest_miss(found: GroupExplanation) -> str:
    """Of a quota the limits alone: the page's own word stands before them."""
    if found.nearest_miss and found.quota_exhausted:
        return _capital("; ".join(found.quota_exhausted))
    return _capital(found.nearest_miss)


def _sentence(found: GroupExplanation) -> str:
    told = _nodes_told(found)
    if not found.quota_exhausted:
        return told
    return gettext("Quota reached: {quota_exhausted}. {told}").format(
        quota_exhausted="; ".join(found.quota_exhausted), told=told
    )


def _nodes_told(found: GroupExplanation) -> str:
    if not found.candidates:
        return gettext("No node was looked at.")
    parts = [
        f"{number(count)} {word}"
        for count, word in (
            (sum(item.count for item in found.exhausted), "exhausted"),
            (sum(item.count for item in found.refused), "filtered"),
            (found.with_room, gettext("with room for one more")),
        )
        if count
    ]
    return f"{count_of(found.candidates, '{count} node', '{count} nodes')}: {', '.join(parts)}."


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text else ""
