"""Which unfinished request of an address goes when there are too many, and low file limits."""

import resource

import pytest

from cluster.runtime.file_limit import ENOUGH, complaint, raise_file_limit
from cluster.runtime.unfinished import Unfinished


class Caller:
    def __init__(self):
        self.dropped = ""

    def drop(self, why):
        self.dropped = why


@pytest.fixture
def callers():
    return [Caller() for _ in range(4)]


def dropped(callers):
    return [bool(caller.dropped) for caller in callers]


def test_above_the_limit_the_oldest_of_that_address_goes(callers):
    unfinished = Unfinished(limit=2)
    for number, caller in enumerate(callers[:3]):
        unfinished.begin(caller, "a", 10.0 * number)
    unfinished.begin(callers[3], "b", 30.0)
    assert dropped(callers) == [True, False, False, False]


def test_those_that_became_whole_do_not_count(callers):
    unfinished = Unfinished(limit=2)
    for number, caller in enumerate(callers):
        unfinished.begin(caller, "a", 10.0 * number)
        unfinished.end(caller, "a")
    unfinished.end(callers[0], "a")
    assert dropped(callers) == [False] * 4


def test_a_rush_of_callers_who_have_just_come_is_let_in(callers):
    unfinished = Unfinished(limit=2)
    for caller in callers:
        unfinished.begin(caller, "a", 10.0)
    assert dropped(callers) == [False] * 4


def test_the_file_limit_is_raised_as_far_as_it_may_be():
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
    try:
        assert raise_file_limit() == resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 256
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_a_limit_that_is_low_for_a_server_is_said():
    assert complaint(ENOUGH) == ""
    assert complaint(1024) == (
        "This shell allows 1024 open files, and no more can be had: about 924 pages and agents at"
        " once. Raise it with `ulimit -Hn 4096` or in /etc/security/limits.conf."
    )
