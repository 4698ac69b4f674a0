"""A story beside its rehearsal: which one belongs to it, and what went where it was named."""

import json

import pytest

from cluster.rehearsal.result import (
    Rehearsed,
    RehearsedAllocation,
    RehearsedNode,
    RehearsedOutcome,
)
from cluster.rehearsal.wire import pack
from dashboard.stories.rehearsed import compared, rehearsal_of
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.rehearsal_noun import REHEARSALS
from scheduler.state.story_nouns import STORIES, STORY_NODES
from scheduler.state.writes.jobs import write_job
from scheduler.structs.rehearsal import RehearsalStatus, StoredRehearsal
from scheduler.structs.story import Story, StoryKind, StoryNode
from tests.builders import SECOND, SOME_MOMENT, make_allocation, make_job

DRAIN = Story(
    id="drain", kind=StoryKind.DRAIN, create_index=50, create_time=SOME_MOMENT + 60 * SECOND
)
JOB = make_job(id="web", create_index=1)
TWO_CHANGES = [{"Drain": {"NodeIDs": ["a"]}}, {"Purge": {"NodeIDs": ["b"]}}]


def rehearsed(number, to, **fields):
    """Allocation `number` was rehearsed to go to a node, or to wait."""
    alloc = make_allocation(JOB, number)
    outcome = RehearsedOutcome.PLACED if to else RehearsedOutcome.WAITS
    return RehearsedAllocation(
        id=alloc.id, name=alloc.name, namespace="default", job_id="web",
        task_group=alloc.task_group, outcome=outcome, to_node_id=to, to_node_name=to, **fields,
    )  # fmt: skip


LOSS = Story(
    id="loss", kind=StoryKind.LOSS, create_index=50, create_time=SOME_MOMENT + 60 * SECOND
)


def kept(*allocations, drained=("a",), index=40, name="r", change=None, fate="drained"):
    change = change or {"Drain": {"NodeIDs": list(drained)}}
    result = Rehearsed(
        index=index, read_at=SOME_MOMENT, allocations=allocations,
        nodes=tuple(RehearsedNode(id=node, fate=fate) for node in drained),
    )  # fmt: skip
    return StoredRehearsal(
        id=name, status=RehearsalStatus.COMPLETE, scenario=json.dumps(change),
        snapshot_index=index, packed=pack(result), create_index=index,
    )  # fmt: skip


@pytest.fixture
def fill(sqlite_store):
    def fill(*rehearsals, moved=None, story=DRAIN, nodes=("a",)):
        """`moved`: by number of an allocation, the node of what took its place."""

        def work(change):
            change.put(STORIES, story)
            for node in nodes:
                change.put(STORY_NODES, StoryNode(story_id=story.id, node_id=node))
            for row in rehearsals:
                change.put(REHEARSALS, row)
            for number, node in (moved or {}).items():
                old = make_allocation(JOB, number, next_allocation=f"next-{number}")
                new = make_allocation(
                    JOB, number, id=f"next-{number}", node_id=node, node_name=node,
                    previous_allocation=old.id, create_index=60, modify_index=60,
                )  # fmt: skip
                put_found(change, old)
                put_found(change, new)

        sqlite_store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)
        return sqlite_store

    return fill


def told(store, *, is_over=False, namespaces=None, story=DRAIN):
    found = store.read(lambda reader: compared(reader, story, namespaces, is_over=is_over))
    return found and [(line.name, line.verdict, line.is_on) for line in found.lines], found


def test_each_allocation_is_told_beside_what_was_named(fill):
    row = kept(rehearsed(0, "b"), rehearsed(1, "c"), rehearsed(2, "d"), rehearsed(3, ""))
    store = fill(row, moved={0: "b", 1: "e"})
    lines, found = told(store)
    assert lines == [
        ("web.web[1]", "differs", "e"),
        ("web.web[2]", "to-come", ""),
        ("web.web[0]", "as-rehearsed", "b"),
        ("web.web[3]", "as-rehearsed", ""),
    ]
    assert found.told == "2 of 4 allocations went as rehearsed. 1 differs. 1 is to come."
    assert (found.index, found.before) == (40, 60 * SECOND)
    assert [line.rehearsed_on for line in found.lines] == ["c", "d", "b", "waits"]
    assert (found.between, [line.is_swapped for line in found.lines]) == (9, [False] * 4)


def test_once_it_is_over_what_never_moved_differs(fill):
    store = fill(kept(rehearsed(0, "b")))
    assert told(store, is_over=True)[0] == [("web.web[0]", "differs", "")]


def test_equal_allocations_of_a_group_stand_for_each_other(fill):
    store = fill(kept(rehearsed(0, "b"), rehearsed(1, "c")), moved={0: "c", 1: "b"})
    lines, found = told(store)
    assert [verdict for _, verdict, _ in lines] == ["as-rehearsed"] * 2
    assert all(line.is_swapped and line.rehearsed_on == line.is_on for line in found.lines)


def test_a_node_that_was_named_once_is_not_found_twice(fill):
    store = fill(kept(rehearsed(0, "b"), rehearsed(1, "c")), moved={0: "b", 1: "b"})
    assert [verdict for _, verdict, _ in told(store)[0]] == ["differs", "as-rehearsed"]


def test_what_was_to_wait_and_found_a_place_differs(fill):
    store = fill(kept(rehearsed(0, "")), moved={0: "b"})
    assert told(store)[0] == [("web.web[0]", "differs", "b")]


def test_what_was_refused_once_has_its_place_by_its_name(fill):
    store = fill(kept(rehearsed(0, "b"), rehearsed(1, "c")), moved={0: "b"})
    lost, anew = (
        make_allocation(JOB, 1, **fields)
        for fields in ({}, {"id": "anew", "node_id": "c", "node_name": "c", "create_index": 61})
    )
    store.write(
        WriteKind.PLAN_RESULT, lambda change: [put_found(change, lost), put_found(change, anew)],
        now=SOME_MOMENT,
    )  # fmt: skip
    assert told(store, is_over=True)[0] == [
        ("web.web[0]", "as-rehearsed", "b"),
        ("web.web[1]", "as-rehearsed", "c"),
    ]


def test_work_of_other_namespaces_is_not_told(fill):
    store = fill(kept(rehearsed(0, "b")), moved={0: "b"})
    assert told(store, namespaces=frozenset({"team"}))[0] == []


@pytest.mark.parametrize(
    ("rehearsals", "found"),
    [
        pytest.param([kept()], "r", id="the-same-node"),
        pytest.param([kept(drained=("a", "b"))], "r", id="more-nodes-a-few-at-a-time"),
        pytest.param([kept(drained=("b",))], None, id="other-nodes"),
        pytest.param([kept(index=51)], None, id="later-than-the-drain"),
        pytest.param([kept(), kept(index=45, name="newer")], "newer", id="the-newest"),
        pytest.param([kept(change={"Lose": {"NodeIDs": ["a"]}})], None, id="another-change"),
        pytest.param(
            [kept(change={"Changes": TWO_CHANGES})],
            None,
            id="several-changes",
        ),
    ],
)  # fmt: skip
def test_the_rehearsal_of_a_drain_is_one_of_just_that(fill, rehearsals, found):
    store = fill(*rehearsals)
    row = store.read(lambda reader: rehearsal_of(reader, DRAIN))
    assert (row[0].id if row else None) == found


LOSE = {"Lose": {"Filter": 'Meta.rack == "r1"'}}


@pytest.mark.parametrize(
    ("lost", "nodes", "found"),
    [
        pytest.param(("a", "b"), ("a", "b"), "r", id="just-these-nodes"),
        pytest.param(("a", "b"), ("a",), None, id="more-were-rehearsed"),
        pytest.param(("a",), ("a", "b"), None, id="more-were-lost"),
    ],
)
def test_a_loss_is_beside_the_rehearsal_of_the_same_nodes(fill, lost, nodes, found):
    row = kept(rehearsed(0, "c"), rehearsed(1, "d"), drained=lost, change=LOSE, fate="lost")
    store = fill(row, moved={0: "c", 1: "e"}, story=LOSS, nodes=nodes)
    beside = store.read(lambda reader: rehearsal_of(reader, LOSS))
    assert (beside[0].id if beside else None) == found
    if found:
        lines, compared_with = told(store, story=LOSS)
        assert [(name, verdict) for name, verdict, _ in lines] == [
            ("web.web[1]", "differs"), ("web.web[0]", "as-rehearsed"),
        ]  # fmt: skip
        assert compared_with.told == "1 of 2 allocations went as rehearsed. 1 differs."


def test_a_scaling_is_beside_the_rehearsal_of_the_same_count(fill, sqlite_store):
    sqlite_store.write(WriteKind.PLAN_RESULT, lambda c: write_job(c, JOB), now=SOME_MOMENT)
    job = sqlite_store.read(lambda reader: reader.job(JOB.key))
    scaled = Story(
        id="scaled", kind=StoryKind.SCALING, namespace="default", job_id="web",
        job_version=job.version, job_create_index=job.create_index, create_index=50,
    )  # fmt: skip
    count = job.task_groups[0].count
    right = kept(change={"Scale": {"JobID": "web", "Count": count}}, name="right")
    wrong = kept(change={"Scale": {"JobID": "web", "Count": count + 1}}, index=45, name="wrong")
    store = fill(right, wrong, story=scaled, nodes=())
    assert store.read(lambda reader: rehearsal_of(reader, scaled))[0].id == "right"
