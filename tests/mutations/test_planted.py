"""Bugs that are planted in the product are seen by the simulator."""

import json
import tempfile
from pathlib import Path

import pytest

from tests.mutations.planted import BUGS, FOUND, MOST_SEEDS, ROOT, copy_of_sources, look, planted

#: Of twenty, so many at least.
FOUND_AT_LEAST = 0.9
SEEN = json.loads(FOUND.read_text())


@pytest.fixture(scope="session")
def tree():
    """A copy of what the command needs, to be broken."""
    with tempfile.TemporaryDirectory() as place:
        yield copy_of_sources(Path(place))


def test_each_bug_changes_one_text():
    times = {bug.says: (ROOT / bug.file).read_text().count(bug.text) for bug in BUGS}
    assert {says: count for says, count in times.items() if count != 1} == {}
    assert len(BUGS) >= 20


def test_nearly_all_were_found_when_last_looked_for():
    assert SEEN.keys() == {bug.says for bug in BUGS}
    seen = [each for each in SEEN.values() if each is not None]
    assert len(seen) >= FOUND_AT_LEAST * len(BUGS)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_no_law_is_broken_in_a_whole_copy(tree):
    assert look(tree, 100, 2) is None


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "bug", [bug for bug in BUGS if SEEN.get(bug.says)], ids=lambda bug: bug.says
)
def test_a_planted_bug_is_seen(bug, tree):
    with planted(bug, tree):
        assert look(tree, MOST_SEEDS, 2) is not None
