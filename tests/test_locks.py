"""The locked dependencies: each with hashes, none from a named index, and as the project asks."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCKS = {
    "requirements.lock": PROJECT["dependencies"],
    "requirements-dev.lock": PROJECT["dependencies"] + PROJECT["optional-dependencies"]["dev"],
}


def entries(name: str) -> list[str]:
    text = "\n".join(
        line for line in (ROOT / name).read_text().splitlines() if not line.startswith("#")
    )
    return text.replace("\\\n", "").splitlines()


@pytest.mark.parametrize("name", LOCKS)
def test_every_locked_package_has_a_version_and_hashes(name):
    form = re.compile(r"[\w.-]+==[\w.]+( ; [^-]+?)?(\s+--hash=sha256:[0-9a-f]{64})+")
    assert [entry for entry in entries(name) if not form.fullmatch(entry)] == []


@pytest.mark.parametrize("name", LOCKS)
def test_the_lock_holds_what_the_project_asks_for(name):
    locked = dict(re.match(r"([\w.-]+)==([\w.]+)", entry).groups() for entry in entries(name))
    for wish in LOCKS[name]:
        package, version = re.match(r"([\w.-]+)(?:\[\w+\])?(?:==([\w.]+))?", wish).groups()
        package = package.replace(".", "-")
        assert package in locked
        assert version in {None, locked[package]}


def test_what_runs_is_what_is_tested():
    # The same files; the tools of the tests may need them on further Pythons.
    runs, tested = (
        {(entry.split()[0], *re.findall(r"sha256:\w+", entry)) for entry in entries(name)}
        for name in LOCKS
    )
    assert runs <= tested


def test_the_makefile_installs_by_hash_only():
    installs = [
        line for line in (ROOT / "Makefile").read_text().splitlines() if "pip install" in line
    ]
    assert installs
    assert [line for line in installs if "--require-hashes" not in line] == []
