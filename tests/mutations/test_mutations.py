"""Rules that are broken on purpose are noticed: some test fails for each that the seed draws."""

import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.mutations.rules import DRAWN, EVERYTHING, RULES, SEED, TESTS_OF, Rule

ROOT = Path(__file__).parents[2]
ENGINE = Path("scheduler") / "engine"
#: What Django wants to find when the tests begin comes along.
_COPIED = (
    "scheduler",
    "cluster",
    "dashboard",
    "templates",
    "tests",
    "pyproject.toml",
    "manage.py",
)
_IGNORED = shutil.ignore_patterns("__pycache__", "vectors", "vendor", "node_modules")


def drawn() -> list[Rule]:
    chosen = np.random.default_rng(SEED).choice(len(RULES), DRAWN, replace=False)
    return [RULES[place] for place in sorted(chosen.tolist())]


def name_of(rule: Rule) -> str:
    return f"{rule.file}: {' '.join(rule.text.split())}"


def test_each_rule_is_stated_once():
    times = {
        name_of(rule): (ROOT / ENGINE / rule.file).read_text().count(rule.text) for rule in RULES
    }
    assert {name: count for name, count in times.items() if count != 1} == {}
    assert len(RULES) >= 80
    assert max(Counter(map(name_of, RULES)).values()) == 1


@pytest.fixture(scope="session")
def tree(tmp_path_factory):
    """A copy of what the engine's tests need, to be broken."""
    copy = tmp_path_factory.mktemp("broken")
    for name in _COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=_IGNORED)
        else:
            shutil.copy(source, copy / name)
    return copy


@pytest.mark.long
@pytest.mark.parametrize("places", [*TESTS_OF.values(), EVERYTHING], ids=lambda it: it[0])
def test_nothing_fails_in_a_whole_copy(places, tree):
    assert not fails(tree, places)


@pytest.mark.long
@pytest.mark.parametrize("rule", drawn(), ids=name_of)
def test_a_broken_rule_is_noticed(rule, tree):
    file = tree / ENGINE / rule.file
    whole = file.read_text()
    file.write_text(whole.replace(rule.text, rule.broken))
    try:
        own = TESTS_OF.get(rule.file.split("/", maxsplit=1)[0], EVERYTHING)
        assert fails(tree, own) or fails(tree, EVERYTHING), "every test still passes"
    finally:
        file.write_text(whole)


def fails(tree: Path, places: tuple[str, ...]) -> bool:
    """Whether some test under the places fails in the copy."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    ended = subprocess.run(
        [*command, *(str(Path("tests") / place) for place in places)],
        cwd=tree,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    told = ended.stdout[-2000:] + ended.stderr[-2000:]
    assert ended.returncode in {0, 1}, told
    # A test that ran and failed, not one that could not be set up.
    has_failed = "\nFAILED " in ended.stdout
    assert has_failed is (ended.returncode == 1), told
    return has_failed
