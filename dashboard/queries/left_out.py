"""What a figure over a job's running allocations leaves out, in sentences.

In: the record for the names of nodes, and what was asked. Out: sentences, none where nothing is
missing.
"""

from typing import Protocol

from django.utils.translation import gettext, ngettext

from cluster.store.ports import RecordReader
from dashboard.wording import count_of, number, one_of

_NODES_NAMED = 3


class AskedNodes(Protocol):
    """How far the nodes of a job's allocations answered."""

    @property
    def running(self) -> int:
        """Allocations that run."""

    @property
    def asked(self) -> int:
        """How many of them were asked about."""

    @property
    def away(self) -> int:
        """How many of those are on nodes that did not answer."""

    @property
    def away_nodes(self) -> tuple[str, ...]:
        """The nodes that did not answer, by their ids."""


def missing_told(reader: RecordReader, told: AskedNodes, unmeasured: int = 0) -> list[str]:
    """What is left out; `unmeasured`: allocations of which their nodes measure nothing."""
    left = []
    if told.away:
        left.append(
            ngettext(
                "{allocation} left out: {names} does not answer.",
                "{allocation} left out: {names} do not answer.",
                len(told.away_nodes),
            ).format(
                allocation=count_of(told.away, "{count} allocation", "{count} allocations"),
                names=_names(reader, told.away_nodes),
            )
        )
    if unmeasured:
        left.append(
            gettext("{allocation} on simulated nodes left out: nothing is measured there.").format(
                allocation=count_of(unmeasured, "{count} allocation", "{count} allocations")
            )
        )
    if told.running > told.asked:
        left.append(
            gettext("{running} more run and were not asked.").format(
                running=number(told.running - told.asked)
            )
        )
    return left


def _names(reader: RecordReader, node_ids: tuple[str, ...]) -> str:
    reader.preload(nodes=node_ids)
    found = [reader.node(node_id) for node_id in node_ids[:_NODES_NAMED]]
    names = [node.name for node in found if node is not None]
    more = len(node_ids) - len(names)
    names += [count_of(more, "{count} more", "{count} more")] if more else []
    return one_of(names, "and")
