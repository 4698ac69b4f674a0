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


_UNTOLD = (
    "The recording asks for a thing by an id that no answer here told before, because the rollout"
    " or launch that made it ended otherwise, or earlier, than it did there."
)
_MOMENT = (
    "The replay does not wait as the person did who recorded: a rollout or drain that was over is"
    " under way here, or the other way round, and versions and indexes after it differ by that."
)

RULINGS = (
    Ruling(
        r"GET /v1/deployments|(?:GET|PUT) /v1/deployment/(?:(?:promote|unblock)/)?\{id\}",
        r"something was wanted, not an empty list|.*deployment not found.*|status 404 was .*",
        _UNTOLD,
    ),
    Ruling(
        r"GET /v1/(?:evaluation/\{id\}(?:/allocations)?|jobs|job/\{job\})",
        r"something was wanted, not an empty list|status 200 was wanted, not 404: .*not found",
        _UNTOLD,
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
        r"PUT /v1/(?:jobs|job/\{job\}/(?:scale|revert))|PUT /v1/client/allocation/\{id\}/restart",
        r".*(?:blocked due to active deployment|job modify index|revert to current version|at"
        r" version \d+ not found|Task not running|should not run).*",
        _MOMENT,
    ),
    Ruling(
        r"PUT /v1/(?:node/\{id\}/eligibility|deployment/promote/\{id\})",
        r".*(?:while it is draining|terminal deployment)",
        _MOMENT,
    ),
    Ruling(
        r"GET /v1/client/fs/cat/\{id\}",
        r"status 200 was wanted, not 40[034]: .*",
        "An error never travels in an answer 200 here (http-api.md 1.6): the same text comes with"
        " a status of its own, and the file is asked about by `stat` first.",
    ),
    Ruling(
        r"GET /v1/client/fs/ls/\{id\}",
        r"something was wanted, not an empty list",
        "The recorded agent puts a socket of its own into each task's `secrets/`; here nothing is"
        " put there but what the task asked for.",
    ),
    Ruling(
        r"GET /v1/agent/health",
        r"\$: client is missing",
        "The recorded agent was server and client in one process; here agents are processes of"
        " their own.",
    ),
    Ruling(
        r"GET /v1/(?:deployment/allocations/\{id\}|vars|scaling/policies)",
        r"something was wanted, not an empty list",
        "The recorded server held something that no request of the recording makes, or that was"
        " found by an id of its own.",
    ),
    Ruling(
        r"GET /v1/node/.*",
        r"\$\S*\.(?:Update: an object|LastDrain(?:\.Meta)?: an? \w+) was wanted, not None",
        "The shape is that of other jobs and drains: without an update block, a drain or metadata,"
        " the reference says null as well.",
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
