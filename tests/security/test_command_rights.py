"""Every command has a row in the table of rights of commands, and what it imports agrees."""

import ast
from pathlib import Path

from django.core.management import get_commands

from cluster.management.bivouac import COMMANDS
from tests.command_rights import NOTHING, RECORD, ROWS

FOLDER = Path(__file__).resolve().parents[2] / "cluster" / "management" / "commands"
BY_NAME = {row.name: row for row in ROWS}


def names_of_files() -> set[str]:
    return {path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("_")}


def test_every_command_has_one_row():
    ours = {name for name, app in get_commands().items() if app == "cluster"}
    assert ours == names_of_files()
    assert sorted(BY_NAME) == sorted(name.replace("_", "-") for name in ours)
    assert len(BY_NAME) == len(ROWS)
    assert {front.behind.replace("_", "-") for front in COMMANDS} <= set(BY_NAME)


def imported(name: str) -> set[str]:
    tree = ast.parse((FOLDER / f"{name.replace('-', '_')}.py").read_text())
    return {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}


def test_who_needs_nothing_reaches_no_record():
    reaching = ("cluster.store", "cluster.runtime.welcome", "cluster.runtime.backups")
    for row in ROWS:
        if row.needs == NOTHING:
            assert not any(module.startswith(reaching) for module in imported(row.name)), row.name
    by_store = [r.name for r in ROWS if any(m.startswith(reaching) for m in imported(r.name))]
    assert {"token", "join-token", "audit", "backup", "restore"} <= set(by_store)
    assert [name for name in by_store if RECORD not in BY_NAME[name].needs] == []
