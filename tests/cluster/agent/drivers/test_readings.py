"""Counters of a task's processes, and of the control group that holds them alone.

The group's files are those of a real kernel, written into a directory: the machine of the tests
need not have any.
"""

import os

import psutil
import pytest

from cluster.agent.drivers.process_table import ProcessTable
from cluster.agent.drivers.readings import group_of, read_group, read_process, read_task

FILES = {
    "cgroup.procs": "11\n12\n",
    "cpu.stat": "usage_usec 3000000\nuser_usec 2000000\nsystem_usec 1000000\n"
    "nr_periods 40\nnr_throttled 10\nthrottled_usec 250000\n",
    "memory.stat": "anon 4096\nfile 8192\nkernel 512\nfile_mapped 1024\n",
    "memory.current": "16384\n",
    "memory.peak": "32768\n",
    "memory.swap.current": "2048\n",
}


@pytest.fixture
def kernel(tmp_path):
    """A kernel whose process 11 is in the group `jobs/web`, with process 12."""
    groups, processes = tmp_path / "groups", tmp_path / "processes"
    (groups / "jobs" / "web").mkdir(parents=True)
    (groups / "cgroup.controllers").write_text("cpu memory\n")
    (processes / "11").mkdir(parents=True)
    (processes / "11" / "cgroup").write_text("0::/jobs/web\n")
    for name, text in FILES.items():
        (groups / "jobs" / "web" / name).write_text(text)
    return groups, processes


def test_a_group_tells_time_throttling_and_memory_by_kind(kernel):
    groups, processes = kernel
    group = group_of((11, 12), groups, processes)
    told = read_group(group)
    assert (told.user_s, told.system_s) == (2.0, 1.0)
    assert (told.periods, told.throttled_periods, told.throttled_ns) == (40, 10, 250_000_000)
    assert (told.rss, told.cache, told.mapped_file, told.kernel) == (4096, 8192, 1024, 512)
    assert (told.usage, told.max_usage, told.swap) == (16384, 32768, 2048)


def test_a_group_that_others_share_says_nothing_of_the_task(kernel):
    groups, processes = kernel
    assert group_of((11,), groups, processes) is None


@pytest.mark.parametrize("name", ["/", "/../secret", "/gone"])
def test_a_group_that_is_none_of_ours_is_not_read(kernel, name):
    groups, processes = kernel
    (processes / "11" / "cgroup").write_text(f"0::{name}\n")
    assert group_of((11, 12), groups, processes) is None


def test_a_kernel_without_peaks_is_told_apart_from_a_peak_of_nothing(kernel):
    groups, _ = kernel
    (groups / "jobs" / "web" / "memory.peak").unlink()
    assert read_group(groups / "jobs" / "web").max_usage is None


def test_a_group_without_controllers_counts_nothing(tmp_path):
    assert read_group(tmp_path) is None


def test_a_process_that_is_gone_is_not_counted():
    table = ProcessTable()
    assert read_process(table, 2**22 + 1) is None
    assert read_task(table, (2**22 + 1,), os.getpid()) is None


def test_a_process_is_found_below_the_one_that_started_it():
    assert os.getpid() in ProcessTable().below(os.getppid())


def test_the_table_tells_of_a_process_what_the_library_tells(tmp_path):
    mine = psutil.Process()
    # Without `/proc` the library is asked.
    for table in (ProcessTable(), ProcessTable(tmp_path)):
        found, times = table.counters(os.getpid()), mine.cpu_times()
        assert found.parent == os.getppid()
        assert found.user_s == pytest.approx(times.user, abs=1.0)
        assert found.system_s == pytest.approx(times.system, abs=1.0)
        assert found.ended_user_s == pytest.approx(times.children_user, abs=0.1)
        assert found.rss == pytest.approx(mine.memory_info().rss, rel=0.1)


def test_a_name_with_brackets_and_what_is_no_process_confuse_nobody(tmp_path):
    for name, line in (
        ("self", "1 (x) S"),
        ("7", "7 (a) b) (c) S 3 " + " ".join(map(str, range(5, 60)))),
        ("8", "8 (cut"),
        ("net", ""),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "stat").write_text(line)
    table = ProcessTable(tmp_path)
    tick, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    assert table.counters(7) == (3, 14 / tick, 15 / tick, 16 / tick, 17 / tick, 24 * page)
    assert (table.below(3), table.counters(8)) == ([7], None)
