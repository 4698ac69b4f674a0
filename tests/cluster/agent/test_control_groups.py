"""What version 2 is told, by its files alone: this kernel interface is not there on every machine.

The files are the kernel's; nothing is limited here. `test_raw_exec_limits.py` limits real tasks.
"""

import os
import shutil

import pytest

from cluster.agent import control_groups as module
from cluster.agent.control_groups import (
    GroupLimits,
    GroupOf2,
    NoControlGroups,
    control_groups,
    files_of_1,
    files_of_2,
    found_group,
    version_here,
    weight_of,
)
from cluster.agent.core_shares import cores_in

MIB = 1024 * 1024
EVERYTHING = GroupLimits(
    cpu_shares=1024, cpu_count=1.5, memory=64 * MIB, memory_low=32 * MIB, pids=10, cores=(0, 2)
)


@pytest.fixture
def as_root(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)


@pytest.fixture
def unified(tmp_path, as_root):
    """The root of a version 2 hierarchy, as files."""
    (tmp_path / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
    (tmp_path / "cpuset.cpus.effective").write_text("0-3\n")
    for place in ("", "bivouac.slice", "bivouac.slice/share.slice", "bivouac.slice/reserve.slice"):
        (tmp_path / place).mkdir(exist_ok=True)
        (tmp_path / place / "cpuset.cpus").write_text("")
        (tmp_path / place / "cgroup.subtree_control").write_text("")
    return tmp_path


@pytest.mark.parametrize(
    ("shares", "weight"),
    [(0, 0), (1, 1), (2, 1), (100, 17), (1024, 100), (262144, 10000), (10**6, 10000)],
)
def test_shares_become_weights(shares, weight):
    assert weight_of(shares) == weight


def test_version_2_is_told_each_limit():
    assert files_of_2(EVERYTHING) == {
        "cpu.weight": "100",
        "cpu.max": "150000 100000",
        "memory.low": str(32 * MIB),
        "memory.max": str(64 * MIB),
        "memory.swap.max": "0",
        "pids.max": "10",
        "cpuset.cpus": "0,2",
    }
    assert files_of_2(GroupLimits()) == {}


def test_version_1_is_told_each_limit():
    assert list(files_of_1(EVERYTHING)) == [
        ("cpu", "cpu.shares", "1024"),
        ("cpu", "cpu.cfs_period_us", "100000"),
        ("cpu", "cpu.cfs_quota_us", "150000"),
        ("memory", "memory.swappiness", "0"),
        ("memory", "memory.limit_in_bytes", str(64 * MIB)),
        ("memory", "memory.soft_limit_in_bytes", str(32 * MIB)),
        ("pids", "pids.max", "10"),
        ("cpuset", "cpuset.cpus", "0,2"),
    ]
    assert list(files_of_1(GroupLimits())) == []


def test_controllers_are_passed_down_to_a_parent_of_our_own(unified):
    groups = control_groups(unified)
    share = unified / "bivouac.slice" / "share.slice"
    assert groups.parents == {"": share}
    for place in (unified, share.parent, share):
        told = (place / "cgroup.subtree_control").read_text()
        assert told == "+cpu +cpuset +memory +pids"


def test_a_group_of_version_2_is_made_killed_and_found_again(unified):
    group = control_groups(unified).group("a.web")
    group.make(EVERYTHING)
    (directory,) = group.directories
    assert directory.name == "a.web.scope"
    assert (directory / "memory.max").read_text() == str(64 * MIB)
    (directory / "cgroup.kill").write_text("")
    found = found_group(group.noted)
    assert isinstance(found, GroupOf2)
    found.kill()
    found.join()
    assert (directory / "cgroup.kill").read_text() == "1"
    assert (directory / "cgroup.procs").read_text() == "0"
    (directory / "memory.events").write_text("low 0\nmax 3\noom 2\noom_kill 1\n")
    assert found.oom_kills() == 1


def test_shared_tasks_of_version_2_leave_cores_that_are_reserved(unified):
    groups = control_groups(unified, kept=(3,))
    parent = unified / "bivouac.slice"
    share = parent / "share.slice" / "cpuset.cpus"
    assert (parent / "cpuset.cpus").read_text() == "0,1,2"
    # What the kernel tells of it then.
    (parent / "cpuset.cpus.effective").write_text("0-2\n")
    first, second = (groups.group(name, has_cores=True) for name in ("a.web", "b.web"))
    assert first.directories == (parent / "reserve.slice" / "a.web.scope",)
    first.make(GroupLimits(cores=(0,)))
    assert share.read_text() == "1,2"
    second.make(GroupLimits(cores=(1, 2)))
    assert share.read_text() == "0,1,2", "nothing is left: a cpuset is never empty"
    shutil.rmtree(first.directories[0])
    found_group(first.noted).remove()
    assert share.read_text() == "0"
    # An agent that starts counts anew.
    share.write_text("0-2")
    control_groups(unified, kept=(3,))
    assert share.read_text() == "0"


@pytest.mark.parametrize(
    ("text", "cores"),
    [("0-2,5\n", {0, 1, 2, 5}), ("\n", set()), ("7", {7}), ("many", set())],
)
def test_lists_of_cores_are_read(tmp_path, text, cores):
    (tmp_path / "cpus").write_text(text)
    assert cores_in(tmp_path / "cpus") == cores


def test_what_is_missing_is_named(unified, tmp_path, monkeypatch):
    (unified / "cgroup.controllers").write_text("cpu memory\n")
    with pytest.raises(NoControlGroups, match="the kernel offers no controller pids"):
        control_groups(unified)
    mounts = tmp_path / "mountinfo"
    mounts.write_text("32 31 0:29 / /x/cpu rw - cgroup cgroup rw,cpu,cpuacct\n")
    nowhere = tmp_path / "nowhere"
    with pytest.raises(NoControlGroups, match="no control group of memory, pids, freezer is"):
        control_groups(nowhere, mounts)
    mounts.write_text("")
    with pytest.raises(NoControlGroups, match="Failed to discover cgroup mount point"):
        control_groups(nowhere, mounts)
    monkeypatch.setattr(module.os, "geteuid", lambda: 1)
    with pytest.raises(NoControlGroups, match="does not run as root"):
        control_groups(unified)


def test_the_version_is_told(unified, tmp_path):
    assert version_here(unified) == 2
    nowhere, mounts = tmp_path / "nowhere", tmp_path / "mountinfo"
    assert version_here(nowhere, mounts) == 0
    mounts.write_text("32 31 0:29 / /x/memory rw - cgroup cgroup rw,memory\n")
    assert version_here(nowhere, mounts) == 1
