"""Quotas on every store: what is put comes back, and what a namespace holds is found."""

from scheduler.state.events import Topic
from scheduler.state.found_rows import put_found
from scheduler.state.nouns import NAMESPACES, QUOTAS
from scheduler.state.quota_use import quota_of, use_of_quota
from scheduler.structs.allocation import ClientStatus, DesiredStatus
from scheduler.structs.job import Namespace
from scheduler.structs.quota import QuotaAmounts, QuotaSpec
from tests.builders import make_allocation, make_job

KIND = QUOTAS.upserted
SMALL = QuotaSpec(name="small", description="x", limits=QuotaAmounts(cpu=100, allocations=2))
LARGE = QuotaSpec(name="large", limits=QuotaAmounts(memory_mb=9, disk_mb=8))


def write(store, *works):
    def work(change):
        for one in works:
            one(change)

    return store.write(KIND, work, now=1)[0]


def test_quotas_are_found_by_name_and_in_order_until_they_are_deleted(store):
    index = write(store, lambda change: change.put(QUOTAS, SMALL), lambda c: c.put(QUOTAS, LARGE))
    assert store.read(lambda reader: reader.get(QUOTAS, "small")) == SMALL
    assert store.read(lambda reader: list(reader.list_all(QUOTAS))) == [LARGE, SMALL]
    assert store.read(lambda reader: reader.table_index("quotas")) == index

    def delete(change):
        change.delete(QUOTAS, "small")
        return change.get(QUOTAS, "small"), list(change.list_all(QUOTAS))

    assert store.write(KIND, delete, now=1)[1] == (None, [LARGE])
    assert store.read(lambda reader: reader.get(QUOTAS, "small")) is None
    (frame,) = store.frames_since(index)
    (event,) = frame.events
    assert (event.topic, event.key, event.value, event.deleted) == (
        Topic.QUOTA,
        "small",
        SMALL,
        True,
    )


def held(number, namespace="team", **fields):
    job = make_job(id=f"job-{number}", namespace=namespace)
    defaults = {"client_status": ClientStatus.RUNNING, "create_index": number}
    return make_allocation(job, number, **(defaults | fields))


def use_of_team(reader):
    return reader.namespace_use("team")


def times(number):
    """What so many allocations of these tests take."""
    one = held(1).allocated_resources
    return QuotaAmounts(
        cpu=number * one.tasks["web"].cpu.cpu_shares,
        memory_mb=number * one.tasks["web"].memory.memory_mb,
        memory_max_mb=number * one.tasks["web"].memory.memory_mb,
        disk_mb=number * one.shared.disk_mb,
        allocations=number,
    )


def test_a_namespace_holds_what_its_nodes_are_not_done_with(store):
    rows = [
        held(3),
        held(1, desired_status=DesiredStatus.STOP),
        held(2, client_status=ClientStatus.UNKNOWN),
        held(4, client_status=ClientStatus.COMPLETE),
        held(5, client_status=ClientStatus.FAILED),
        held(6, client_status=ClientStatus.LOST),
        held(7, "other"),
    ]
    write(store, *(lambda change, row=row: put_found(change, row) for row in rows))
    assert store.read(use_of_team) == times(3)

    def end_two_and_start_another(change):
        put_found(change, rows[0].changed(client_status=ClientStatus.COMPLETE))
        change.delete_allocation(rows[1].id)
        ended = use_of_team(change)
        put_found(change, held(8))
        put_found(change, held(9, "other"))
        return ended, use_of_team(change)

    assert store.write(KIND, end_two_and_start_another, now=1)[1] == (times(1), times(2))
    assert store.read(use_of_team) == times(2)


def test_the_use_of_a_quota_is_that_of_all_its_namespaces(store):
    write(
        store,
        lambda change: change.put(QUOTAS, SMALL),
        *(
            lambda change, name=name, quota=quota: change.put(
                NAMESPACES, Namespace(name=name, quota=quota)
            )
            for name, quota in (("team", "small"), ("other", "small"), ("free", ""))
        ),
        *(
            lambda change, row=row: put_found(change, row)
            for row in (held(1), held(2, "other"), held(3, "free"))
        ),
    )
    assert store.read(lambda reader: quota_of(reader, "team")) == SMALL
    assert store.read(lambda reader: quota_of(reader, "free")) is None
    assert store.read(lambda reader: use_of_quota(reader, "small")) == times(2)
