"""Names of processes: one's own lives, that of an ended child is known to be dead."""

import subprocess
import sys

import pytest

from cluster.runtime.process_name import is_known_dead, process_name

TELL = "from cluster.runtime.process_name import process_name; print(process_name('leader'))"


def name_of_ended_child():
    told = subprocess.run([sys.executable, "-c", TELL], capture_output=True, text=True, check=True)
    return told.stdout.strip()


def test_a_living_process_is_not_dead():
    assert not is_known_dead(process_name("leader"))


def test_a_child_that_ended_is_known_to_be_dead():
    name = name_of_ended_child()
    assert name.startswith("leader@")
    assert is_known_dead(name)


def test_of_a_process_on_another_machine_nothing_is_known():
    role, pid, start, _place, chance = name_of_ended_child().split("/")
    assert not is_known_dead(f"{role}/{pid}/{start}/elsewhere/{chance}")


@pytest.mark.parametrize("name", ["", "leader@here", "leader@here/x/1/2/3", "a/b/c/d/e/f"])
def test_of_other_names_nothing_is_known(name):
    assert not is_known_dead(name)


def test_names_of_one_process_differ():
    assert process_name("web") != process_name("web")
