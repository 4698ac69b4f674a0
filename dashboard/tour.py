"""The guided tour: eight pages in turn, and what to look at on each.

In: the number of a step, the pages that a person may open. Out: the step, with the next one.
"""

from collections.abc import Collection
from typing import NamedTuple


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
        "Now: the cluster at a glance",
        "The first sentence says what matters most. The map below shows every evaluation by its"
        " state and moves while the cluster works; a state leads to the list of what is there.",
    ),
    TourStop(
        "job-new",
        "/jobs/new/",
        "Submit a job",
        "Choose an example, then press Plan: the real scheduler says which node each allocation"
        " would get and why, before anything runs. Run stores just what was planned.",
    ),
    TourStop(
        "jobs",
        "/jobs/",
        "Jobs: what shall run",
        "Each job has versions, groups, allocations and evaluations of its own. Its page rolls"
        " out, scales, stops and goes back.",
    ),
    TourStop(
        "evaluations",
        "/evaluations/",
        "Evaluations: every time the scheduler thinks",
        "Each row is one look at one job: what caused it, what it decided, how long it took. Open"
        " one for its path step by step, and for why a node was not chosen.",
    ),
    TourStop(
        "deployments",
        "/deployments/",
        "Deployments: one version follows another",
        "Canaries, promotion, batches: each step names the evaluation that made it. What waits for"
        " a person stands first.",
    ),
    TourStop(
        "topology",
        "/topology/",
        "Topology: where everything is",
        "Each square is a node in its rack; the darker, the fuller. Light up a job to see where it"
        " runs.",
    ),
    TourStop(
        "nodes",
        "/nodes/",
        "Nodes: who does the work",
        "What each machine has, holds and says of itself. A node is closed or drained from its"
        " page and from the admin.",
    ),
    TourStop(
        "states",
        "/help/states/",
        "The states, explained",
        "Every state an evaluation can be in, and every way from one to another.",
    ),
)


def step_of(asked: str, opens: Collection[str]) -> TourStep | None:
    """The step of `?tour=`; None where there is no such step."""
    stops = [stop for stop in STOPS if stop.route in opens]
    number = int(asked) if asked.isdecimal() and len(asked) < 3 else 0
    if not 1 <= number <= len(stops):
        return None
    return TourStep(
        number=number,
        of=len(stops),
        stop=stops[number - 1],
        before=_address(stops, number - 1),
        after=_address(stops, number + 1),
    )


def _address(stops: list[TourStop], number: int) -> str:
    return f"{stops[number - 1].path}?tour={number}" if 1 <= number <= len(stops) else ""
