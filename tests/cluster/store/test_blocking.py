"""Waiting without threads: woken by what is watched, by nothing else, and never too late."""

import asyncio

import pytest

from cluster.store import access as access_module
from cluster.store.blocking import Watch, _the_waiters, wait_for
from scheduler.state.events import Topic, WriteKind
from tests.builders import make_allocation, make_evaluation, make_node
from tests.patience import PATIENCE_S


@pytest.fixture
def the_access(access, monkeypatch):
    """The process's store, for those who ask for it."""
    monkeypatch.setattr(access_module, "_access", access)
    return access


def put(store, value):
    def work(change):
        {"Node": change.put_node, "Allocation": change.put_allocation,
         "Evaluation": change.put_evaluation}[type(value).__name__](value)  # fmt: skip

    return store.write(WriteKind.EVALUATION_UPDATED, work, now=1)[0]


WAKES = [
    pytest.param(Watch(Topic.NODE), make_node(), id="table"),
    pytest.param(Watch(Topic.NODE, make_node().id), make_node(), id="row"),
    pytest.param(Watch(Topic.ALLOCATION, make_node().id), make_allocation(), id="by-node"),
    pytest.param(Watch(Topic.ALLOCATION, "web"), make_allocation(), id="by-job"),
    pytest.param(Watch(Topic.NODE_USE, make_node().id), make_allocation(), id="use-of-node"),
    pytest.param(Watch(Topic.EVALUATION, "web"), make_evaluation(), id="evaluation-by-job"),
]


@pytest.mark.parametrize(("watch", "value"), WAKES)
async def test_a_change_wakes_those_who_watch_it(the_access, watch, value):
    waiter = asyncio.create_task(wait_for([watch], after=1, timeout=PATIENCE_S))
    await the_access.awrite_call(put, value)
    assert await waiter


async def test_a_change_of_something_else_wakes_nobody(the_access):
    watch = Watch(Topic.NODE, make_node(1).id)
    # Inside the block it follows already: a write that came before could wake it without cause.
    async with _the_waiters().waiting(frozenset({watch}), 1) as changed:
        await the_access.awrite_call(put, make_node(2))
        newest = await the_access.awrite_call(put, make_evaluation())
        assert await wait_for([Watch(Topic.EVALUATION)], after=newest - 1, timeout=PATIENCE_S)
        assert not changed.news.is_set()


async def test_what_changed_before_the_wait_began_is_not_missed(the_access):
    await the_access.awrite_call(put, make_node())
    assert await wait_for([Watch(Topic.NODE)], after=1, timeout=PATIENCE_S)


async def test_a_hundred_waiters_hold_no_threads(the_access):
    async with asyncio.TaskGroup() as group:
        waiters = [
            group.create_task(
                wait_for([Watch(Topic.NODE, make_node(number).id)], after=1, timeout=PATIENCE_S)
            )
            for number in range(100)
        ]
        for number in range(100):
            await the_access.awrite_call(put, make_node(number))
    assert all(waiter.result() for waiter in waiters)
