"""What is wrong with placements is found, in a record and in a server's answers."""

import pytest

from cluster.bench.placements import Placements, Size, check, of_answers
from cluster.bench.scenario import WrongCount

ROOM = {"n1": Size(1000, 500), "n2": Size(1000, 500)}


def placements(jobs, taken=None):
    return Placements(jobs, taken or {}, ROOM)


def test_what_is_right_is_counted():
    found = placements(
        {"a": (3, 3, 1), "b": (1, 1, 1), "other": (9, 1, 9)}, {"n1": Size(1000, 500)}
    )
    assert check(found, {"a": 3, "b": 1}) == 4


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (placements({"a": (3, 2, 3)}), "placed twice: a"),
        (placements({"a": (2, 2, 2)}), "asked: a: 2, not 3"),
        (placements({}), "asked: a: 0, not 3"),
        (placements({"a": (3, 3, 1)}, {"n2": Size(1001, 1)}), "more than they have: n2"),
        (placements({"a": (3, 3, 1)}, {"n2": Size(1, 501)}), "more than they have: n2"),
        (placements({"a": (3, 3, 1)}, {"n9": Size(1, 1)}), "used, but not there: n9"),
    ],
)
def test_what_is_wrong_is_named(found, words):
    with pytest.raises(WrongCount, match=words):
        check(found, {"a": 3})


def test_those_of_a_system_job_share_a_name_but_no_node():
    assert check(placements({"a": (3, 1, 3)}), {"a": 3}, one_per_node=True) == 3
    with pytest.raises(WrongCount, match="placed twice: a"):
        check(placements({"a": (3, 3, 2)}), {"a": 3}, one_per_node=True)


def test_many_wrong_ones_are_named_in_part():
    with pytest.raises(WrongCount, match="a: 0, not 1, b: 0, not 1, c: 0, not 1 and others"):
        check(placements({}), dict.fromkeys("abcde", 1))


def alloc(name, node="n1", client="running", desired="run", cpu=100):
    tasks = {"task": {"Cpu": {"CpuShares": cpu}, "Memory": {"MemoryMB": 10}}}
    return {
        "JobID": "a", "Name": name, "NodeID": node, "ClientStatus": client,
        "DesiredStatus": desired, "AllocatedResources": {"Tasks": tasks},
    }  # fmt: skip


def node(number, cpu):
    has = {"Cpu": {"CpuShares": cpu}, "Memory": {"MemoryMB": 500}}
    kept = {"Cpu": {"CpuShares": 50}, "Memory": {"MemoryMB": 0}}
    return {"ID": f"n{number}", "NodeResources": has, "ReservedResources": kept}


def test_answers_are_added_up():
    allocs = [
        alloc("a[0]"), alloc("a[1]", "n2"), alloc("a[0]", "n2", client="lost"),
        # Told to stop and still there: its room is not free yet.
        alloc("a[2]", desired="stop"),
    ]  # fmt: skip
    found = of_answers(allocs, [node(1, 250), node(2, 150)])
    assert found.jobs == {"a": (2, 2, 2)}
    assert found.taken == {"n1": Size(200, 20), "n2": Size(100, 10)}
    assert check(found, {"a": 2}) == 2
    with pytest.raises(WrongCount, match="more than they have: n1"):
        check(of_answers(allocs, [node(1, 249), node(2, 150)]), {"a": 2})
