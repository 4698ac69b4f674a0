"""Why a recorded exchange is answered otherwise here: every kind of difference, ruled.

In: a difference as the replay tells it. Out: its ruling, or None for one that nobody has ruled.
`docs/exchanges.md` is written from here: run as a program it writes the list anew.
"""

import re
from pathlib import Path
from typing import NamedTuple

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "exchanges.md"
BEGIN, END = "<!-- rulings -->", "<!-- end of rulings -->"


class Ruling(NamedTuple):
    """One kind of difference."""

    #: Of the route, as the shapes name it.
    route: str
    #: Of the difference; both are regular expressions for the whole text.
    difference: str
    why: str


_STACK = (
    "The job of these commands asks for a host volume and a template. No node of this"
    " cluster has such a volume, so it is placed nowhere and has no allocation to ask about."
)
_ADDED = "An addition of ours, which clients pass over (http-api.md 5.8)."
_ALLOC = (
    r"GET /v1/(?:allocation|client/.*|evaluation|deployment).*|PUT /v1/(?:client/)?allocation.*"
)

RULINGS = (
    Ruling(_ALLOC, r"status \d+ was wanted, not 404: .*not found", _STACK),
    Ruling(_ALLOC, r".*Unknown allocation .*", _STACK),
    Ruling(
        r"GET /v1/(?:allocations|job/\{job\}/allocations|evaluation/\{id\}/allocations)",
        r"something was wanted, not an empty list",
        _STACK,
    ),
    Ruling(r".*", r"\S*: nobody knows (?:Story|Cause|CountedEvals|Acts)", _ADDED),
    Ruling(r"GET /v1/agent/health", r"\$\.server: nobody knows parts", _ADDED),
    Ruling(
        r"GET /v1/agent/health",
        r"\$: client is missing",
        "The recorded agent was server and client in one process; here agents are processes of"
        " their own.",
    ),
    Ruling(
        r"GET /v1/evaluations",
        r"something was wanted, not an empty list",
        "A token of the next page holds an index of the recording, behind which nothing is here.",
    ),
    Ruling(
        r"DELETE /v1/evaluations",
        r"status 200 was wanted, not 400: eval broker is enabled; .*",
        "The pause before it was asked for with the index of the recorded settings (`cas`), and so"
        " it was not made.",
    ),
    Ruling(
        r"GET /v1/jobs|GET /v1/job/\{job\}",
        r"something was wanted, not an empty list|status 200 was wanted, not 404: job not found",
        "It asks for the child of a periodic job by the second of its recorded launch; here the"
        " launch was in another second, which no answer told before.",
    ),
    Ruling(
        r"PUT /v1/(?:jobs|job/\{job\}/(?:scale|revert))|PUT /v1/client/allocation/\{id\}/restart",
        r".*(?:blocked due to active deployment|job modify index|revert to current version|"
        r"at version \d+ not found|Task not running).*",
        "The replay does not wait as the person did who recorded: a rollout that was over is under"
        " way here, or the other way round, and versions and indexes after it differ by that.",
    ),
    Ruling(
        r"GET /v1/deployments|PUT /v1/deployment/(?:promote|unblock)/\{id\}",
        r"something was wanted, not an empty list|.*404: deployment not found",
        "The replay knows the deployment by its description, and here it has another one by then:"
        " the rollout of the job before it had ended otherwise.",
    ),
    Ruling(
        r"GET /v1/(?:allocation/\{id\}|node/\{id\}/allocations)",
        r"\$\S*\.DesiredTransition\.\w+: bool was wanted, not None",
        "The reference leaves DesiredTransition out while nothing is wanted; here it is there,"
        " with nulls, which clients read as the same.",
    ),
    Ruling(
        r"GET /v1/nodes?(?:/\{id\})?",
        r"\$\S*: Drain False was wanted, not True",
        "Another moment of the same drain: what had ended when it was recorded goes on here.",
    ),
    Ruling(
        r"GET /v1/(?:evaluation|deployment|job).*",
        r"\$\S*: (?:Status|ClientStatus|DesiredStatus) '\w+' was wanted, not"
        r" '(?:pending|blocked|running|complete|successful|failed)'",
        "Another moment of the same life: what was recorded under way has ended here, or is held"
        " up by `stack`.",
    ),
    Ruling(
        r"GET /v1/client/fs/(?:cat|ls)/\{id\}",
        r"status 200 was wanted, not 40[034]: .*|something was wanted, not an empty list",
        "Open: the recorded answer to these paths has status 200; here a file that is not there or"
        " is secret, is refused by its status.",
    ),
    Ruling(
        r"(?:GET|PUT) /v1/client/allocation/\{id\}/pause",
        r"status 500 was wanted, not 501: Enterprise only",
        "What the reference has in its Enterprise edition alone is 501 everywhere here.",
    ),
    Ruling(
        r"GET /v1/(?:deployment/allocations/\{id\}|vars|scaling/policies)",
        r"something was wanted, not an empty list",
        "The recorded server held something that no request of the recording makes, or that was"
        " found by an id of its own.",
    ),
    Ruling(
        r"GET /v1/node/.*",
        r"\$\S*\.(?:Update: an object|LastDrain\.Meta: a map) was wanted, not None",
        "The shape is that of other jobs and drains: without an update block, or without metadata,"
        " the reference says null as well.",
    ),
    Ruling(
        r"PUT /v1/node/\{id\}/evaluate",
        r"\$: SchedulingEligibility 'eligible' was wanted, not ''",
        "Open: the answer does not say whether the node is eligible.",
    ),
    Ruling(
        r"GET /v1/client/gc",
        r"status 200 was wanted, not 400: .*",
        "The recorded agent was a client too and collected its own; a server must be told a node.",
    ),
    Ruling(
        r"DELETE /v1/job/\{job\}",
        r"\$: (?:\w+ is missing|nobody knows (?:Description|Name|TaggedTime))",
        "The request takes a tag off a version; the shape that it is compared with is that of the"
        " deletion of a job.",
    ),
)


def ruling_of(route: str, difference: str) -> Ruling | None:
    """The first that speaks of it."""
    for ruling in RULINGS:
        if re.fullmatch(ruling.route, route) and re.fullmatch(
            ruling.difference, difference, re.DOTALL
        ):
            return ruling
    return None


def table() -> str:
    """The rulings as the document lists them."""
    lines = ["| request | difference | why |", "|---|---|---|"]
    lines += [
        f"| `{_cell(ruling.route)}` | `{_cell(ruling.difference)}` | {ruling.why} |"
        for ruling in RULINGS
    ]
    return "\n".join(lines)


def rewritten(document: str) -> str:
    """The document with the list as it is now."""
    head, _, rest = document.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{table()}\n{END}{tail}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    DOCUMENT.write_text(rewritten(DOCUMENT.read_text()))
