"""Files of ended allocations go where room is short: the oldest first, no more than need be."""

import asyncio
import logging
import os
import threading
import time

import pytest
from django.core.management import CommandError

from cluster.agent import collector as module
from cluster.agent.alloc_directories import AllocDirectories
from cluster.agent.collector import CollectionLimits, Collector, usage_of
from cluster.management.commands.runagent import config_from
from scheduler.structs.allocation import ClientStatus, DesiredStatus
from tests.cluster.agent.deadline import until
from tests.cluster.agent.real_node import Node, make_work
from tests.cluster.agent.test_config_file import options_of, problems_of


@pytest.fixture
async def node(tmp_path):
    node = Node(tmp_path / "node")
    await node.start()
    yield node
    await node.end()


async def ended(node, count):
    """So many allocations that have ended, the oldest first."""
    found = []
    for _ in range(count):
        alloc, job = make_work()
        node.host.add(alloc, job)
        await node.reach(alloc, ClientStatus.RUNNING)
        node.host.update(alloc.changed(desired_status=DesiredStatus.STOP), job)
        await node.reach(alloc, ClientStatus.COMPLETE)
        found.append(alloc)
    node.tell()
    return [alloc.id for alloc in found]


def collector_of(node, **room):
    return Collector(node.host, CollectionLimits(**room), node.storage.alloc_dir)


def use(monkeypatch, *percents):
    """The disk tells these, one look after the other, and then the last one."""
    told = list(percents)
    monkeypatch.setattr(module, "usage_of", lambda _: told.pop(0) if told[1:] else told[0])


async def test_the_oldest_go_until_there_are_few_enough(node, monkeypatch):
    use(monkeypatch, (10, 10))
    alloc_ids = await ended(node, 4)
    await collector_of(node, max_allocs=3).collect()
    assert [*node.host.entries] == alloc_ids[1:]
    await collector_of(node, max_allocs=1, parallel_destroys=5).collect()
    assert [*node.host.entries] == alloc_ids[3:]


@pytest.mark.parametrize(
    "full", [pytest.param((81, 0), id="disk"), pytest.param((0, 71), id="inodes")]
)
async def test_a_full_disk_is_emptied_as_far_as_it_must_be(node, monkeypatch, full):
    alloc_ids = await ended(node, 3)
    use(monkeypatch, full, (80, 70))
    await collector_of(node, parallel_destroys=1).collect()
    assert [*node.host.entries] == alloc_ids[1:]
    assert not node.storage.directories(alloc_ids[0]).root.exists()


async def test_what_runs_and_what_the_server_has_not_heard_of_stays(node, monkeypatch, caplog):
    use(monkeypatch, (99, 99))
    unheard, job = make_work()
    alive, other = make_work()
    node.host.add(alive, other)
    node.host.add(unheard, job)
    await node.reach(alive, ClientStatus.RUNNING)
    await node.reach(unheard, ClientStatus.RUNNING)
    node.host.update(unheard.changed(desired_status=DesiredStatus.STOP), job)
    await node.reach(unheard, ClientStatus.COMPLETE)
    collector = collector_of(node)
    with caplog.at_level(logging.INFO, "cluster.agent.collector"):
        for _ in range(3):
            await collector.collect()
    assert {*node.host.entries} == {alive.id, unheard.id}
    assert caplog.messages == [
        "no ended allocation is left to delete: the disk is 99 % full, 80 % may be"
    ]


async def test_an_allocation_that_comes_is_a_reason_to_look(node, monkeypatch):
    use(monkeypatch, (10, 10))
    (oldest,) = await ended(node, 1)
    looking = asyncio.create_task(collector_of(node, max_allocs=1, interval_s=3600).run())
    alloc, job = make_work()
    node.host.add(alloc, job)
    await until(lambda: oldest not in node.host.entries, "its end")
    looking.cancel()
    assert alloc.id in node.host.entries


async def test_it_looks_from_time_to_time(node, monkeypatch):
    use(monkeypatch, (10, 10))
    await ended(node, 1)
    looking = asyncio.create_task(collector_of(node, max_allocs=0, interval_s=0.01).run())
    await until(lambda: not node.host.entries, "its end")
    looking.cancel()


@pytest.mark.parametrize("most", [1, 2])
async def test_no_more_are_deleted_at_a_time_than_may_be(node, monkeypatch, most):
    alloc_ids = await ended(node, 5)
    lock, busy, seen = threading.Lock(), 0, []
    removed = AllocDirectories.remove

    def slow(directories):
        nonlocal busy
        with lock:
            busy += 1
            seen.append(busy)
        time.sleep(0.02)
        removed(directories)
        with lock:
            busy -= 1

    monkeypatch.setattr(AllocDirectories, "remove", slow)
    collector_of(node, parallel_destroys=most)
    node.host.destroy(alloc_ids[0])
    await module.collect_now(node.host, alloc_ids[1:])
    await until(lambda: len(seen) == 5, "all of them")
    assert max(seen) == most


def test_space_and_inodes_are_counted_as_df_counts_them(tmp_path, monkeypatch):
    real = os.statvfs(tmp_path)

    def told(blocks, free, available, files, files_free):
        values = [*real]
        values[2:7] = [blocks, free, available, files, files_free]
        monkeypatch.setattr(os, "statvfs", lambda _: os.statvfs_result(values))
        return usage_of(tmp_path)

    assert told(100, 30, 20, 1000, 250) == (pytest.approx(70 * 100 / 90), 75.0)
    assert told(100, 100, 100, 0, 0) == (0.0, 0.0), "a file system without a number of inodes"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("gc-interval", "0"),
        ("gc-disk-usage-threshold", "101"),
        ("gc-inode-usage-threshold", "many"),
        ("gc-parallel-destroys", "0"),
    ],
)
def test_bounds_that_make_no_sense_are_refused(name, value):
    with pytest.raises(
        CommandError, match=f"--{name} must be a number from 1 to .*, not '{value}'"
    ):
        config_from(options_of(f"--{name}", value))


def test_a_file_with_such_bounds_is_refused_by_every_name(tmp_path):
    told = problems_of(
        tmp_path, "client {\n  gc_inode_usage_threshold = 0\n  gc_parallel_destroys = 65\n}\n"
    )
    assert [line.partition("client.")[2] for line in told] == [
        "gc_inode_usage_threshold: must be from 1 to 100; it is 0",
        "gc_parallel_destroys: must be from 1 to 64; it is 65",
    ]
