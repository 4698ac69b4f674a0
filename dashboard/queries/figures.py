"""The figures of *Now*: each a value, a line, and what is usual or of how many.

In: what is counted now and what stands beside it. Out: FigureTiles, one rendering for page and
frames. A figure has a tone only where its state needs somebody.
"""

import msgspec
from django.utils.translation import gettext
from msgspec.structs import replace

from dashboard.overview import Figures
from dashboard.queries.usual import BesideFigures
from dashboard.wording import number


class FigureTile(msgspec.Struct, frozen=True, kw_only=True):
    """A figure as it is shown."""

    key: str
    label: str
    value: str
    line: str
    told: str
    url: str
    tone: str = ""
    #: What the label leaves out.
    title: str = ""

    @property
    def goes_with_time(self) -> bool:
        """Whether it changes without a change of the record."""
        return self.key not in {"running", "ready"}

    @property
    def last(self) -> list[str]:
        """Where its line ends: across and down."""
        return self.line.rpartition(" ")[2].split(",") if self.line else []


def figure_tiles(
    counted: Figures, beside: BesideFigures, *, sees_work: bool, sees_nodes: bool
) -> list[FigureTile]:
    """All that are made from the record; the page measures one more itself.

    They lead only to lists that may be opened by whoever sees work, or nodes.
    """
    tiles = _of_work(counted, beside)
    if not sees_work:
        tiles = [replace(tile, url="") for tile in tiles]
    if not sees_nodes:
        return tiles
    ready = FigureTile(
        key="ready",
        label=gettext("Nodes ready"),
        value=number(counted.ready),
        line=beside.ready.line,
        told=_nodes_told(counted),
        url="/nodes/",
        tone="lost" if counted.lost else "",
        title=gettext("The line: the last ten minutes, of nodes that are kept"),
    )
    return [*tiles, ready]


def _of_work(counted: Figures, beside: BesideFigures) -> list[FigureTile]:
    missing = counted.wanted - counted.running
    return [
        FigureTile(
            key="ended",
            label=gettext("Ended, last minute"),
            value=number(counted.ended),
            line=beside.ended.line,
            told=beside.ended.told,
            url="/evaluations/?status=complete",
            title=gettext("Evaluations; the line: each of the last ten minutes"),
        ),
        FigureTile(
            key="made",
            label=gettext("Made to ended, p95"),
            value=beside.made.value,
            line=beside.made.line,
            told=beside.made.told,
            url="/evaluations/",
            title=gettext("Of evaluations that ended in the last ten minutes"),
        ),
        FigureTile(
            key="plans",
            label=gettext("Plans written, p95"),
            value=beside.plans.value,
            line=beside.plans.line,
            told=beside.plans.told,
            url="/evaluations/",
            title=gettext(
                "From the plan to its answer, of the newest evaluations; oldest first in the line"
            ),
        ),
        FigureTile(
            key="running",
            label=gettext("Allocations running"),
            value=number(counted.running),
            line=beside.running.line,
            told=_missing_told(missing, counted.wanted),
            url="/allocations/",
            tone="blocked" if missing else "",
            title=gettext("The line: the last ten minutes, of allocations that are kept"),
        ),
    ]


def _missing_told(missing: int, wanted: int) -> str:
    if not wanted:
        return gettext("none is wanted")
    if not missing:
        return gettext("all that are wanted")
    return gettext("{missing} missing of {wanted}").format(
        missing=number(missing), wanted=number(wanted)
    )


def _nodes_told(counted: Figures) -> str:
    if counted.lost:
        told = gettext("{lost} lost of {nodes}").format(
            lost=number(counted.lost), nodes=number(counted.nodes)
        )
    else:
        told = gettext("of {nodes}").format(nodes=number(counted.nodes))
    if not counted.closed:
        return told
    return gettext("{told}, {closed} closed").format(told=told, closed=number(counted.closed))
