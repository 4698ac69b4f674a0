"""The pages that `manage.py bench pages` looks at, and what it says of their figures."""

import re

from django.urls import Resolver404, resolve

from cluster.bench.page_budgets import MEASURES, OTHERWISE, PAGES, grid, named, over
from tests.page_routes import page_routes

#: Show what an agent answers; the nodes of the large record have none.
OF_AGENTS = {
    "allocation-files", "allocation-terminal",
    "allocation-output", "allocation-usage", "deployment-compared", "job-checks", "job-usage",
    "node-usage", "service-checks",
}  # fmt: skip


def figures(**changed):
    plain = {named(page, each.name): each.budget for page in PAGES for each in MEASURES}
    plain |= {named(page, measure): budget for (page, measure), budget in OTHERWISE.items()}
    return plain | changed


def routed():
    """The names of the routes at which the measured addresses come out."""
    found = set()
    for page in PAGES:
        path = re.sub(r"\{\w+\}", "some", page).partition("?")[0]
        try:
            found.add(resolve(path).url_name)
        except Resolver404:
            raise AssertionError(f"{page} leads nowhere") from None
    return found


def test_every_page_has_its_line():
    assert {each.name for each in page_routes()} - OF_AGENTS - routed() == set()


def test_what_is_within_its_budget_is_not_named():
    assert over(figures()) == []


def test_what_is_over_is_named_with_both_figures():
    told = over(figures(**{"/jobs/ server": 201.4, "/stories/{story}/ drawn": 61}))
    assert told == [
        "/stories/{story}/: drawn 61, at most 60 allowed",
        "/jobs/: server 201, at most 200 allowed",
    ]


def test_a_page_that_was_not_measured_is_no_page_within_its_budget():
    known = figures()
    del known["/audit/ html"]
    assert over(known) == ["/audit/: html was not measured"]


def test_the_table_marks_what_is_over():
    lines = grid(figures(**{"/jobs/ server": 1_201})).splitlines()
    assert lines[0].split() == [
        "page", "server", "ms", "painted", "ms", "interactive", "ms", "html", "KB", "scripts",
        "KB", "elements", "drawn",
    ]  # fmt: skip
    (jobs,) = (line.split() for line in lines if line.startswith("/jobs/ "))
    assert jobs == ["/jobs/", "1,201*", "400", "400", "250", "60", "8,000", "500"]
    assert len(lines) == 1 + len(PAGES)
