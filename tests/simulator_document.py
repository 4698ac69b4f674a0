"""The tables of `docs/simulator.md`, from the moves and the laws themselves.

Run as a program it writes them anew.
"""

import json
import os
import re
from pathlib import Path

from tests.mutations.planted import FOUND, table

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "simulator.md"


def tables() -> dict[str, str]:
    """By name, each as Markdown."""
    from cluster.simulation.laws import evaluations, jobs, nodes, quiet, rollouts, rounds
    from cluster.simulation.moves.table import DEEDS

    moves = ["| move | share | |", "|---|---|---|"]
    total = sum(deed.weight for deed in DEEDS.values())
    for name, deed in DEEDS.items():
        moves.append(
            f"| {name} | {deed.weight / total:.1%} | {'a fault' if deed.is_fault else ''} |"
        )
    laws = ["| law | says | looked at |", "|---|---|---|"]
    for when, group in (
        ("after each write", (*evaluations.LAWS, *nodes.LAWS, *jobs.LAWS, *rollouts.LAWS)),
        ("after each round", rounds.LAWS),
        ("once all is quiet", quiet.LAWS),
    ):
        laws += [f"| {law.name} | {law.says} | {when} |" for law in group]
    laws += [
        "| replay | the log applied to an empty record is the record | once all is quiet |",
        (
            "| at-rest | a settled cluster stays as it is when its jobs are looked at again"
            " | once all is quiet |"
        ),
        "| no-error | nothing but refusals is raised | always |",
    ]
    planted = table(json.loads(FOUND.read_text()))
    return {"moves": "\n".join(moves), "laws": "\n".join(laws), "planted": planted}


def filled(text: str) -> str:
    """The document with its tables as they should be."""
    for name, rows in tables().items():
        pattern = rf"(<!-- {name} -->\n).*?(\n<!-- end -->)"
        text, places = re.subn(
            pattern, lambda found, t=rows: f"{found[1]}{t}{found[2]}", text, flags=re.DOTALL
        )
        assert places == 1, f"there is one place for the table of {name}"
    return text


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    import django

    django.setup()
    DOCUMENT.write_text(filled(DOCUMENT.read_text()))
