"""Why a recorded exchange is answered otherwise here: every kind of difference, ruled.

In: a difference as the replay tells it. Out: its ruling, or None for one that nobody has ruled.
`docs/exchanges.md` is written from here: run as a program it writes the list anew.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "exchanges.md"
BEGIN, END = "<!-- rulings -->", "<!-- end of rulings -->"


class Ruling(NamedTuple):
    """One kind of difference."""

    #: Of the route, as the shapes name it, or of the command.
    route: str
    #: Of the difference; both are regular expressions for the whole text.
    difference: str
    why: str


RULINGS = (
    Ruling(
        r"GET /v1/evaluations",
        r"something was wanted, not an empty list",
        "A token of the next page holds an index of the recording, behind which nothing is where"
        " the file is played alone.",
    ),
    Ruling(
        r"GET /v1/deployment/\{id\}",
        r"status 404 was wanted, not 200: .*",
        "The recorded evaluation was of a rollout that had been purged with its job; which one"
        " stands for it here is chosen by job and cause, and its rollout may still be there.",
    ),
    Ruling(
        r"GET /v1/client/fs/cat/\{id\}",
        r"status 200 was wanted, not 40[034]: .*",
        "An error never travels in an answer 200 here (http-api.md 1.6): the same text comes with"
        " a status of its own, and the file is asked about by `stat` first.",
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


def table_of(rulings: Iterable[Ruling], of: str) -> str:
    """Rulings as the document lists them."""
    lines = [f"| {of} | difference | why |", "|---|---|---|"]
    lines += [
        f"| `{_cell(ruling.route)}` | `{_cell(ruling.difference)}` | {ruling.why} |"
        for ruling in rulings
    ]
    return "\n".join(lines)


def rewritten(document: str) -> str:
    """The document with the list as it is now."""
    head, _, rest = document.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{table_of(RULINGS, 'request')}\n{END}{tail}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    DOCUMENT.write_text(rewritten(DOCUMENT.read_text()))
