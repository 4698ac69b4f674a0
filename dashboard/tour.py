"""The guided tour: eight pages in turn, and what to look at on each.

In: the number of a step, the pages that a person may open. Out: the step, with the next one.
"""

from collections.abc import Collection
from typing import NamedTuple

from django.utils.translation import gettext, gettext_noop


class TourStop(NamedTuple):
    """One page of the tour."""

    #: The name of the address; a stop whose page one may not open is left out.
    route: str
    path: str
    title: str
    text: str


class TourStep(NamedTuple):
    """Where one is."""

    number: int
    of: int
    stop: TourStop
    #: Addresses; empty at the ends.
    before: str
    after: str


STOPS = (
    TourStop(
        "now",
        "/",
        gettext_noop("Now: the cluster at a glance"),
        gettext_noop(
            "The first sentence says what matters most. The map below shows every evaluation"
            " by its"
            " state and moves while the cluster works; a state leads to the list of what is there."
        ),
    ),
    TourStop(
        "job-new",
        "/jobs/new/",
        gettext_noop("Submit a job"),
        gettext_noop(
            "Choose an example, then press Plan: the real scheduler says which node each"
            " allocation"
            " would get and why, before anything runs. Run stores just what was planned."
        ),
    ),
    TourStop(
        "jobs",
        "/jobs/",
        gettext_noop("Jobs: what shall run"),
        gettext_noop(
            "Each job has versions, groups, allocations and evaluations of its own. Its page rolls"
            " out, scales, stops and goes back."
        ),
    ),
    TourStop(
        "evaluations",
        "/evaluations/",
        gettext_noop("Evaluations: every time the scheduler thinks"),
        gettext_noop(
            "Each row is one look at one job: what caused it, what it decided, how long it"
            " took. Open"
            " one for its path step by step, and for why a node was not chosen."
        ),
    ),
    TourStop(
        "deployments",
        "/deployments/",
        gettext_noop("Deployments: one version follows another"),
        gettext_noop(
            "Canaries, promotion, batches: each step names the evaluation that made it. What"
            " waits for"
            " a person stands first."
        ),
    ),
    TourStop(
        "topology",
        "/topology/",
        gettext_noop("Topology: where everything is"),
        gettext_noop(
            "Each square is a node in its rack; the darker, the fuller. Light up a job to see"
            " where it"
            " runs."
        ),
    ),
    TourStop(
        "nodes",
        "/nodes/",
        gettext_noop("Nodes: who does the work"),
        gettext_noop(
            "What each machine has, holds and says of itself. A node is closed or drained from its"
            " page and from the admin."
        ),
    ),
    TourStop(
        "states",
        "/help/states/",
        gettext_noop("The states, explained"),
        gettext_noop("Every state an evaluation can be in, and every way from one to another."),
    ),
)


def step_of(asked: str, opens: Collection[str]) -> TourStep | None:
    """The step of `?tour=`; None where there is no such step."""
    stops = [stop for stop in STOPS if stop.route in opens]
    number = int(asked) if asked.isdecimal() and len(asked) < 3 else 0
    if not 1 <= number <= len(stops):
        return None
    stop = stops[number - 1]
    return TourStep(
        number=number,
        of=len(stops),
        stop=stop._replace(title=gettext(stop.title), text=gettext(stop.text)),
        before=_address(stops, number - 1),
        after=_address(stops, number + 1),
    )


def _address(stops: list[TourStop], number: int) -> str:
    return f"{stops[number - 1].path}?tour={number}" if 1 <= number <= len(stops) else ""
