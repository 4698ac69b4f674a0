"""Control groups of this machine below a parent of the tests' own, which is gone afterwards."""

import contextlib
import functools
import os

import pytest

from cluster.agent.control_groups import NoControlGroups, control_groups
from cluster.agent.core_shares import RESERVE_1, RESERVE_2
from cluster.agent.drivers.exec import ExecDriver

PARENT = f"bivouac-test-{os.getpid()}"


def why_none() -> str:
    """Why tests find no control groups here; "" where they do."""
    try:
        remove_parents(control_groups(parent=PARENT))
    except NoControlGroups as problem:
        return str(problem)
    return ""


@functools.cache
def why_no_root() -> str:
    """Why tasks can have no root of their own here; "" where they can."""
    if why := why_none():
        return why
    told = ExecDriver(lambda: control_groups(parent=PARENT)).describe(1)
    remove_parents(control_groups(parent=PARENT))
    return "" if told.healthy else told.health_description


def remove_parents(groups):
    for parent in groups.parents.values():
        if groups.version == 2:
            places = [parent, parent.parent / RESERVE_2, parent.parent]
        else:
            places = [parent / RESERVE_1, parent]
        for place in places:
            with contextlib.suppress(FileNotFoundError):
                place.rmdir()


@pytest.fixture
def groups():
    if os.geteuid() != 0:
        pytest.skip("only root makes control groups")
    try:
        found = control_groups(parent=PARENT)
    except NoControlGroups as problem:
        pytest.skip(str(problem))
    yield found
    # Fails where a test has left a group behind.
    remove_parents(found)


@pytest.fixture
def rooted(groups):
    """The same, where tasks can have a root of their own too."""
    if why := why_no_root():
        pytest.skip(why)
    return groups
