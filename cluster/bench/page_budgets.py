"""What each page may cost, and which pages there are to look at.

In: figures of pages as they were measured. Out: every figure above its budget, in words, and the
figures as a table.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cluster.bench.scenario import Figures


class Measure(NamedTuple):
    """One column: what was measured, in which unit, and what any page may cost."""

    name: str
    unit: str
    budget: float


#: First HTML with 10,000 evaluations stored; painted after the HTML and ready for hands as the
#: page of a chain and the table of evaluations; bytes before compression; scripts, gzip.
MEASURES = (
    Measure("server", "ms", 200),
    Measure("painted", "ms", 400),
    Measure("interactive", "ms", 400),
    Measure("html", "KB", 250),
    Measure("scripts", "KB", 60),
    Measure("elements", "", 8_000),
    Measure("drawn", "", 500),
)
_EDITOR = 60 + 160
#: Django's own scripts come on top of ours.
_ADMIN = 100
#: What has budgets of its own: the editor comes on top of the scripts of any page, a storm is
#: folded, a chain of 500 is drawn whole.
OTHERWISE = {
    ("/jobs/new/", "scripts"): _EDITOR,
    ("/jobs/default/{job}/edit/", "scripts"): _EDITOR,
    ("/access/new-policy/", "scripts"): _EDITOR,
    ("/access/policies/{policy}/", "scripts"): _EDITOR,
    ("/admin/cluster/noderow/", "scripts"): _ADMIN,
    ("/admin/cluster/evaluationrow/", "scripts"): _ADMIN,
    ("/stories/{story}/", "drawn"): 60,
    ("/chains/{chain}/", "html"): 700,
}
#: Where they are, with what stands for a thing of the record; tests hold them to the routes.
PAGES = (
    "/", "/stories/", "/stories/{story}/", "/evaluations/", "/evaluations/{evaluation}/",
    "/explain/{waiting}/", "/chains/{chain}/", "/chains/{chain}/?view=timeline", "/jobs/",
    "/jobs/new/", "/jobs/default/{job}/", "/jobs/default/{job}/?tab=stories",
    "/jobs/default/{job}/?tab=evaluations", "/jobs/default/{job}/?tab=allocations&sort=name",
    "/jobs/default/{job}/?tab=deployments", "/jobs/default/{job}/edit/", "/allocations/",
    "/allocations/{allocation}/", "/deployments/", "/deployments/{deployment}/", "/nodes/",
    "/nodes/{node}/", "/drains/", "/drains/{node}/", "/drains/staged/{staged}/", "/topology/",
    "/topology/?job={job}", "/topology/?view=table", "/topology/?at=now",
    "/events/", "/scheduler/", "/what-if/", "/what-if/saved/",
    "/what-if/{rehearsal}/", "/what-if/{rehearsal}/story/", "/search/?q=job",
    "/namespaces/", "/namespaces/default/", "/pools/", "/pools/default/", "/quotas/",
    "/quotas/{quota}/", "/variables/", "/variables/new/", "/variables/default/{variable}/",
    "/services/",
    "/volumes/", "/volumes/new/", "/volumes/default/{volume}/",
    "/access/", "/access/policies/", "/access/policies/{policy}/",
    "/access/new-policy/", "/access/roles/", "/access/tokens/", "/access/join-tokens/",
    "/account/", "/audit/", "/inside/", "/help/states/",
    "/admin/", "/admin/cluster/noderow/", "/admin/cluster/evaluationrow/",
)  # fmt: skip


def named(page: str, measure: str) -> str:
    """The figure of one measure of one page."""
    return f"{page} {measure}"


def over(figures: Mapping[str, float]) -> list[str]:
    """A sentence for each figure above its budget, and for each page that was not measured."""
    found = []
    for page in PAGES:
        for measure in MEASURES:
            value = figures.get(named(page, measure.name))
            budget = OTHERWISE.get((page, measure.name), measure.budget)
            if value is None:
                found.append(f"{page}: {measure.name} was not measured")
            elif value > budget:
                found.append(
                    f"{page}: {measure.name} {_number(value)}, at most {_number(budget)} allowed"
                )
    return found


def grid(figures: Figures) -> str:
    """A line for each page, a column for each measure; what is over is marked with a star."""
    heads = [f"{each.name} {each.unit}".rstrip() for each in MEASURES]
    cells = ([_cell(figures, page, measure) for measure in MEASURES] for page in PAGES)
    rows = ([page, *row] for page, row in zip(PAGES, cells, strict=True))
    return _lined_up([["page", *heads], *rows])


def _cell(figures: Figures, page: str, measure: Measure) -> str:
    value = figures.get(named(page, measure.name))
    if value is None:
        return "-"
    budget = OTHERWISE.get((page, measure.name), measure.budget)
    return _number(value) + ("*" if value > budget else "")


def _number(value: float) -> str:
    return f"{value:,.0f}"


def _lined_up(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return "\n".join(
        " ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
