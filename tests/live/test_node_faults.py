"""Faults that befall a real agent with real tasks: none is lost, doubled or left behind.

The faults are those of `manage.py bench agents`, at a tenth of their length.
"""

import sys

import pytest

from cluster.bench import agents
from cluster.bench.agent_faults import FAULTS, Skipped

pytestmark = [
    pytest.mark.live,
    pytest.mark.timeout(600),
    pytest.mark.skipif(sys.platform != "linux", reason="counts by /proc"),
]

#: Seconds enough for every run of the tests.
SHORT = ("runaway",)
#: An hour without a server is six seconds at this one; a partition has a least length.
SCALE = {"away": 1 / 180}


def befall(name: str) -> dict[str, float]:
    try:
        return agents.befall(name, SCALE.get(name, 0.1))
    except Skipped as why:
        pytest.skip(str(why))


@pytest.mark.parametrize("name", SHORT)
def test_a_task_takes_along_whatever_ran_away_from_it(name):
    assert befall(name)["processes"] > 40


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in FAULTS if name not in SHORT])
def test_a_fault_of_a_node_costs_no_task(name):
    assert befall(name)
