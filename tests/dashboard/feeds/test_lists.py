"""An open list, sorted and narrowed: what its frames put together is what a fresh page shows."""

import re
from html import unescape
from random import Random  # noqa: TID251 - seeded
from urllib.parse import parse_qsl

import pytest

from cluster.operations.jobs import JobRegistration, deregister_job, register_job
from dashboard.feeds.feed import rendered
from dashboard.feeds.lists import BETWEEN_READINGS, READINGS_AT_ONCE
from dashboard.feeds.pieces import Html, RowOrder
from dashboard.panels import feed_for
from dashboard.queries.job_lists import LISTS
from dashboard.queries.lists import read_list
from dashboard.rights import NODE_READ, ListedPaths
from dashboard.subscription import Subscription
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.service_noun import SERVICES
from scheduler.state.story_nouns import STORIES
from scheduler.state.variable_nouns import VARIABLES
from scheduler.state.volume_nouns import HOST_VOLUMES
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.host_volume import DynamicVolume, VolumeState
from scheduler.structs.identity import JobKey
from scheduler.structs.node import NodeEligibility, NodeStatus
from scheduler.structs.service_registration import ServiceRegistration
from scheduler.structs.story import Story, StoryKind
from scheduler.structs.variable import SealedVariable, VariableLock
from tests.builders import (
    SECOND,
    SOME_MOMENT,
    CountingIDs,
    make_allocation,
    make_evaluation,
    make_job,
    make_node,
)
from tests.callers import MANAGER

VIEWS = [
    ("jobs", ""), ("jobs", "sort=-priority"), ("jobs", "status=pending&sort=-name"),
    ("jobs", 'filter=Priority != 50'), ("jobs", "namespace=team"), ("jobs", "sort=status"),
    ("jobs", "q=j"), ("nodes", ""), ("nodes", "status=ready&sort=-name"),
    ("nodes", "sort=datacenter"), ("nodes", "sort=-cpu"), ("nodes", "prefix=node-1"),
    ("evaluations", ""), ("evaluations", "status=blocked"), ("evaluations", "sort=job"),
    ("evaluations", 'filter=JobID matches "[0-4]$"'), ("evaluations", "sort=priority"),
    ("stories", ""), ("stories", "sort=kind"), ("stories", "each=1&status=running"),
    ("allocations", "sort=-changed"), ("allocations", "status=running"),
    ("allocations", "datacenter=dc1"), ("allocations", f"node={make_node().id}"),
    ("services", ""), ("services", "q=web-1&sort=-job"), ("services", "service=web-2"),
    ("services", f"node={make_node(1).id}"), ("services", 'filter=Tags contains "v1"'),
    ("volumes", ""), ("volumes", "status=ready&sort=-made"), ("volumes", "sort=state"),
    ("job-allocations", "namespace=default&job=web&sort=name&group=web"),
    ("job-allocations", "namespace=default&job=other"),
    ("job-evaluations", "namespace=default&job=j3"),
    ("job-evaluations", "namespace=default&job=j3&status=blocked&sort=priority"),
    ("job-stories", "namespace=default&job=cron"), ("job-deployments", "namespace=default&job=j1"),
    ("volumes", "plugin=(registered)"), ("volumes", "named=v1"),
    ("volumes", f"node={make_node(1).id}&sort=-name"), ("volumes", 'filter=Name matches "[0-4]$"'),
]  # fmt: skip

MAY = frozenset({NODE_READ})
OF_VARIABLES = (
    "", "lock=locked&sort=-changed", "namespace=team", "prefix=b/&sort=made", "q=/1",
    'filter=Path matches "[0-4]$"',
)  # fmt: skip
#: Of `a/...` all in one namespace, but for one that a rule shuts.
SOME_PATHS = ListedPaths(frozenset({("default\0a/*", True), ("default\0a/7", False)}))
OPEN = (EvalStatus.PENDING, EvalStatus.BLOCKED)
NEXT = {ClientStatus.PENDING: ClientStatus.RUNNING}


class OpenPage:
    """A page whose list only frames change."""

    def __init__(self, store, kind, key, paths=None):
        self.store, self.kind, self.paths = store, LISTS[kind], paths
        key_told = self.kind.wish(fields(key)).key
        self.feed = feed_for(Subscription(kind, key_told, None, MAY, paths=paths))
        self.key, self.now, self.index = key, SOME_MOMENT, store.index
        store.read(self.feed.load)
        self.rows, self.around = self.fresh()

    def fresh(self):
        """Rows and what stands around them as a page is rendered now."""

        def work(reader):
            wish = self.kind.wish(fields(self.key))
            return read_list(reader, self.kind, wish, None, SOME_MOMENT, self.paths)

        found = self.store.read(work)
        rows = {
            f"{self.kind.container}-{key}": rendered(
                self.kind.template, {**context, "now": SOME_MOMENT}
            )
            for key, context in found.rows.items()
        }
        context = {"list": found, "now": SOME_MOMENT}
        around = {
            name: rendered(f"dashboard/partials/_{name.replace('-', '_')}.html", context)
            for name in ("list-sentence", "list-told", "list-facets", "list-foot")
        }
        return rows, around

    def follow(self):
        for frame in self.store.frames_since(self.index):
            self.feed.observe(frame)
        self.index, self.now = self.store.index, self.now + SECOND
        self.feed.is_due(self.now)
        # Ages are the browser's to keep current.
        for piece in self.store.read(lambda reader: self.feed.flush(reader, SOME_MOMENT)):
            if isinstance(piece, RowOrder):
                known = {**self.rows, **piece.html}
                self.rows = {row_id: known[row_id] for row_id in piece.order}
            elif isinstance(piece, Html) and piece.target in self.around:
                self.around[piece.target] = piece.html


def fields(key):
    return dict(parse_qsl(key))


@pytest.fixture
def change(sqlite_store):  # noqa: C901, PLR0915 - one small function per kind of change
    """One random change of the record."""
    ids, dice = CountingIDs(), Random(7)  # noqa: S311 - the same changes every time

    def job():
        made = make_job(
            id=f"j{dice.randrange(12)}",
            namespace="default",
            priority=dice.choice((10, 50, 90)),
        )
        register_job(sqlite_store, JobRegistration(job=made), by=MANAGER, now=SOME_MOMENT, ids=ids)

    def gone():
        key = JobKey("default", f"j{dice.randrange(12)}")
        if sqlite_store.read(lambda reader: reader.job(key)) is not None:
            deregister_job(
                sqlite_store, key, purge=bool(dice.randrange(2)), by=MANAGER, now=SOME_MOMENT,
                ids=ids,
            )  # fmt: skip

    def node():
        made = make_node(
            dice.randrange(15),
            datacenter=dice.choice(("dc1", "dc2")),
            status=dice.choice((NodeStatus.READY, NodeStatus.DOWN)),
            scheduling_eligibility=dice.choice(tuple(NodeEligibility)),
        )
        write(lambda change: put_found(change, made))

    def evaluation():
        made = make_evaluation(
            dice.randrange(80), job_id=f"j{dice.randrange(9)}",
            priority=dice.choice((10, 50)), status=dice.choice(OPEN),
            story_id=f"{dice.randrange(9):08}-story",
        )  # fmt: skip
        before = sqlite_store.read(lambda reader: reader.evaluation(made.id))
        if before is not None:
            made = before.changed(status=EvalStatus.COMPLETE)
        write(lambda change: put_found(change, made))

    def story():
        number = dice.randrange(30)
        made = Story(
            id=f"{number:08}-story", kind=dice.choice(tuple(StoryKind)), namespace="default",
            parent_job_id="cron", create_index=number, create_time=SOME_MOMENT,
        )  # fmt: skip
        write(lambda change: change.put(STORIES, made))

    def allocation():
        made = make_allocation(number=dice.randrange(70))
        before = sqlite_store.read(lambda reader: reader.allocation(made.id))
        if before is not None:
            made = before.changed(
                client_status=NEXT.get(before.client_status, ClientStatus.FAILED)
            )
        write(lambda change: put_found(change, made))

    def volume():
        number = dice.randrange(70)
        made = DynamicVolume(
            id=f"{number:036x}", namespace="default", name=f"v{number % 30}",
            node_id=make_node(dice.randrange(4)).id, plugin_id=dice.choice(("", "mkdir")),
            state=dice.choice(tuple(VolumeState)), create_index=number, create_time=SOME_MOMENT,
        )  # fmt: skip
        if dice.randrange(4):
            write(lambda change: change.put(HOST_VOLUMES, made))
        elif sqlite_store.read(lambda reader: reader.get(HOST_VOLUMES, made.id)) is not None:
            write(lambda change: change.delete(HOST_VOLUMES, made.id))

    def service():
        number = dice.randrange(70)
        made = ServiceRegistration(
            id=f"s-{number}", service_name=f"web-{number % 4}", namespace="default",
            node_id=make_node(dice.randrange(4)).id, job_id=f"job-{number % 3}",
            alloc_id=make_allocation(number=number).id, tags=(dice.choice(("v1", "v2")),),
            address="10.0.0.1", port=dice.randrange(9),
        )  # fmt: skip
        if dice.randrange(4):
            write(lambda change: change.put(SERVICES, made))
        elif sqlite_store.read(lambda reader: reader.get(SERVICES, made.id)) is not None:
            write(lambda change: change.delete(SERVICES, made.id))

    def variable():
        number = dice.randrange(70)
        made = SealedVariable(
            namespace=dice.choice(("default", "team")), path=f"{dice.choice('ab')}/{number}",
            lock=dice.choice((None, VariableLock(id="x"))), create_index=number,
            modify_index=dice.randrange(90),
        )  # fmt: skip
        if dice.randrange(4):
            write(lambda change: change.put(VARIABLES, made))
        elif sqlite_store.read(lambda reader: reader.get(VARIABLES, made.key)) is not None:
            write(lambda change: change.delete(VARIABLES, made.key))

    def write(work):
        sqlite_store.write(WriteKind.EVALUATION_UPDATED, work, now=SOME_MOMENT)

    changes = (job, gone, node, evaluation, allocation, story, volume, variable, service)

    def one():
        dice.choice(changes)()

    return one


def test_an_open_list_ends_as_a_fresh_one(sqlite_store, change):
    for _ in range(60):
        change()
    pages = [OpenPage(sqlite_store, kind, key) for kind, key in VIEWS]
    pages += [
        OpenPage(sqlite_store, "variables", key, paths)
        for key in OF_VARIABLES
        for paths in (None, SOME_PATHS)
    ]
    for turn in range(40):
        for _ in range(1 + turn % 3):
            change()
        for page in pages:
            page.follow()
            rows, around = page.fresh()
            assert [*page.rows] == [*rows], (page.kind.name, page.key)
            assert (page.rows, page.around) == (rows, around), (page.kind.name, page.key)


def test_a_full_list_goes_on_with_the_row_that_left_it(sqlite_store):
    def make(first, count):
        evaluations = [make_evaluation(number) for number in range(first, first + count)]
        for made in evaluations:
            sqlite_store.write(
                WriteKind.EVALUATION_UPDATED,
                lambda change, made=made: put_found(change, made),
                now=SOME_MOMENT,
            )

    size = LISTS["evaluations"].page_size
    make(0, size)
    page = OpenPage(sqlite_store, "evaluations", "")
    *_, last = page.rows
    assert len(page.rows) == size
    assert "after=" not in page.around["list-foot"]
    make(size, 1)
    page.follow()
    assert last not in page.rows
    (address,) = re.findall(
        r'rel="next"\s+href="/evaluations/\?([^"]+)"', page.around["list-foot"]
    )
    following = OpenPage(sqlite_store, "evaluations", unescape(address))
    assert [*following.rows] == [last]


def test_who_comes_between_a_change_and_its_reading_is_sent_every_row(sqlite_store, change):
    page = OpenPage(sqlite_store, "jobs", "")
    register = JobRegistration(job=make_job(id="one"))
    register_job(sqlite_store, register, by=MANAGER, now=SOME_MOMENT, ids=CountingIDs())
    page.follow()
    for frame in sqlite_store.frames_since(0):
        page.feed.observe(frame)
    assert page.feed.standing(page.now) == ()
    page.feed.is_due(page.now + SECOND)
    (rows, *_) = sqlite_store.read(lambda reader: page.feed.flush(reader, page.now))
    assert set(rows.html) == set(rows.order) == {"jobs-default/one"}


@pytest.fixture
def registered(sqlite_store):
    """The frames of one job that was registered, and a page that lists it."""
    page = OpenPage(sqlite_store, "jobs", "")
    register = JobRegistration(job=make_job(id="one"))
    register_job(sqlite_store, register, by=MANAGER, now=SOME_MOMENT, ids=CountingIDs())
    return page, sqlite_store.frames_since(0)


def read_at(page, frames, moment):
    """Whether what these frames changed is read at a moment."""
    for frame in frames:
        page.feed.observe(frame)
    if not page.feed.is_due(moment):
        return False
    page.store.read(lambda reader: page.feed.flush(reader, moment))
    return True


def test_a_list_that_changes_all_the_time_is_read_at_a_bounded_rate(registered):
    page, frames = registered
    moments = [SOME_MOMENT + turn * SECOND // 100 for turn in range(100)]
    readings = [read_at(page, frames, moment) for moment in moments]
    assert sum(readings) == READINGS_AT_ONCE - 1 + SECOND // BETWEEN_READINGS


def test_the_changes_of_one_evaluation_are_read_as_they_come_after_a_quiet_time(registered):
    page, frames = registered
    for began in (SOME_MOMENT, SOME_MOMENT + SECOND):
        readings = [read_at(page, frames, began + each * SECOND // 100) for each in range(4)]
        assert readings == [True] * READINGS_AT_ONCE + [False]


def test_a_list_asks_for_the_moment_at_which_it_tells_what_it_holds_back(registered):
    page, frames = registered
    assert page.feed.asks_at is None
    while read_at(page, frames, SOME_MOMENT):
        assert page.feed.asks_at is None
    asked = page.feed.asks_at
    assert SOME_MOMENT < asked <= SOME_MOMENT + BETWEEN_READINGS
    assert not page.feed.is_due(asked - 1)
    assert page.feed.is_due(asked)


def test_a_list_does_not_fall_silent_when_the_clock_is_set_back(registered):
    page, frames = registered
    assert read_at(page, frames, SOME_MOMENT)
    earlier = SOME_MOMENT - 3600 * SECOND
    assert read_at(page, frames, earlier)
    assert page.feed._next_at - earlier <= BETWEEN_READINGS


def test_changes_of_hidden_namespaces_are_not_even_read(sqlite_store):
    feed = feed_for(Subscription("jobs", "", frozenset({"team"})))
    register = JobRegistration(job=make_job(id="one"))
    register_job(sqlite_store, register, by=MANAGER, now=SOME_MOMENT, ids=CountingIDs())
    for frame in sqlite_store.frames_since(0):
        feed.observe(frame)
    assert not feed.is_due(SOME_MOMENT)
