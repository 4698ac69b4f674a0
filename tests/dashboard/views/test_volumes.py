"""Host volumes for people: listed by right, one with its use, made and deleted by form."""

import pytest

from cluster.operations.host_volumes import begin_volume
from dashboard.feeds.pieces import Html, RowOrder
from dashboard.live.topics import Looker, authorise
from dashboard.panels import feed_for
from dashboard.people import person_of
from dashboard.viewer import visible_namespaces
from scheduler.access.caller import CLUSTER
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.nouns import NAMESPACES
from scheduler.state.volume_nouns import HOST_VOLUMES
from scheduler.state.writes.jobs import write_job
from scheduler.state.writes.volumes import claim_volumes
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.host_volume import DynamicVolume
from scheduler.structs.job import Namespace
from scheduler.structs.node import HostVolume
from scheduler.structs.task_group import VolumeAsk
from tests.builders import (
    SOME_MOMENT,
    CountingIDs,
    make_allocation,
    make_job,
    make_node,
    make_task_group,
)
from tests.dashboard.views.conftest import Browser
from tests.people import account_with

MKDIR = {"plugins.host_volume.mkdir.version": "0.0.1"}
FORM = {
    "namespace": "default",
    "name": "data",
    "plugin": "mkdir",
    "access": "single-node-writer",
    "attachment": "file-system",
}


@pytest.fixture
def node(store):
    node = make_node(
        1, attributes=MKDIR, host_volumes={"fixed": HostVolume(name="fixed", read_only=True)}
    )
    store.write(WriteKind.PLAN_RESULT, lambda change: put_found(change, node), now=SOME_MOMENT)
    return node


@pytest.fixture
def volume(store, node):
    asked = DynamicVolume(namespace="default", name="data", plugin_id="mkdir")
    return begin_volume(
        store, asked, registers=False, by=CLUSTER, now=SOME_MOMENT, ids=CountingIDs()
    ).volume


def url(volume):
    return f"/volumes/{volume.namespace}/{volume.id}/"


def use(store, volume, node):
    """A group that sticks to the volume, on its node."""
    ask = VolumeAsk(name="v", type="host", source="data", sticky=True)
    job = make_job(task_groups=(make_task_group(volumes={"v": ask}),))

    def work(change):
        told = {"data": HostVolume(name="data", id=volume.id)}
        put_found(change, make_node(1, attributes=MKDIR, host_volumes=told))
        stored = write_job(change, job)
        alloc = make_allocation(stored, node_id=node.id, client_status=ClientStatus.RUNNING)
        put_found(change, alloc)
        claim_volumes(change, alloc)

    store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)


def test_the_list_says_what_a_volume_is_where_there_is_none(browser):
    page = browser.get("/volumes/").text
    assert "No volume that you may look at." in page
    assert "A directory of one node" in page


def test_the_list_tells_state_node_and_use_and_what_nodes_offer(browser, volume):
    page = browser.get("/volumes/").text
    assert "1 volume; 1 pending." in page
    assert url(volume) in page
    assert f"/nodes/{volume.node_id}/" in page
    assert "Offered by nodes" in page
    assert "fixed" in page


def test_it_is_narrowed_by_the_beginning_of_a_name(browser, volume):
    assert url(volume) in browser.get("/volumes/?named=da").text
    page = browser.get("/volumes/?named=x").text
    assert url(volume) not in page
    assert "No match" in page


def test_a_volume_tells_what_uses_it_and_what_sticks_to_it(browser, store, volume, node):
    use(store, volume, node)
    page = browser.get(url(volume)).text
    assert "1 allocation" in page
    assert "Groups that stick to it" in page
    assert "single-node-writer, file-system" in page


def test_those_without_the_right_are_told_of_none(store, volume):
    shut = Browser(account_with(store, 'namespace "default" { capabilities = ["read-job"] }'))
    assert shut.get("/volumes/").status == 403
    other = Browser(
        account_with(
            store, 'namespace "team" { policy = "write" }\nnode { policy = "read" }', "other"
        )
    )
    assert url(volume) not in other.get("/volumes/").text
    assert other.get(url(volume)).status == 404


def followed(store, rules, name="watcher"):
    """The feed of the list for somebody, and what it is told after a change."""
    access = person_of(account_with(store, rules, name)).access

    def asked(reader):
        looker = Looker(access, visible_namespaces(reader, access))
        return authorise("volumes", "", looker, reader)

    return feed_for(store.read(asked))


@pytest.fixture
def spaces(store):
    """A volume in each of two namespaces."""

    def work(change):
        for space in ("default", "team"):
            change.put(NAMESPACES, Namespace(name=space))
        put_found(change, make_node(1))
        for space in ("default", "team"):
            made = DynamicVolume(
                id=f"v-{space}", namespace=space, name=f"of-{space}", node_id=make_node(1).id
            )
            change.put(HOST_VOLUMES, made)

    return lambda: store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)


@pytest.mark.parametrize(
    ("rules", "seen", "node_is_named"),
    [
        pytest.param(
            'namespace "*" { policy = "read" }', {"of-default", "of-team"}, False, id="all"
        ),
        pytest.param(
            'namespace "team" { policy = "read" }\nnode { policy = "read" }', {"of-team"}, True,
            id="one",
        ),
        pytest.param(
            'namespace "default" { capabilities = ["read-job"] }\n'
            'namespace "team" { capabilities = ["host-volume-read"] }',
            {"of-team"}, False, id="another-right-than-that-on-jobs",
        ),
        pytest.param(
            'namespace "*" { capabilities = ["read-job"] }\n'
            'namespace "team" { capabilities = ["host-volume-read"] }',
            {"of-team"}, False, id="all-jobs-some-volumes",
        ),
    ],
)  # fmt: skip
def test_page_and_topic_show_the_same_volumes_and_no_others(
    store, spaces, rules, seen, node_is_named
):
    """By the right on volumes; the node's name and facet only to those who may look at nodes."""
    spaces()
    feed = followed(store, rules)
    page = Browser(account_with(store, rules)).get("/volumes/")
    shown = page.context["list"]
    live = store.read(lambda reader: feed.everything(reader, SOME_MOMENT))
    (rows,) = (piece for piece in live if isinstance(piece, RowOrder))
    around = "".join(piece.html for piece in live if isinstance(piece, Html))
    told = "".join(rows.html.values())
    assert {row["line"].volume.name for row in shown.contexts} == seen
    assert {name for name in ("of-default", "of-team") if name in told} == seen
    assert shown.total == len(seen)
    assert f"{len(seen)} volume" in around
    assert ("/nodes/" in page.text.partition("<tbody")[2], "/nodes/" in told) == (
        (node_is_named, node_is_named)
    )
    assert ("node" in shown.kind.facet_names) == node_is_named
    hidden = {"default", "team"} - {name.removeprefix("of-") for name in seen}
    assert not any(f">{space}<" in around for space in hidden)


def test_what_nodes_offer_follows_them(store, node):
    feed = followed(store, 'namespace "*" { policy = "read" }\nnode { policy = "read" }')
    before = store.index
    other = make_node(2, host_volumes={"later": HostVolume(name="later")})
    store.write(WriteKind.PLAN_RESULT, lambda change: put_found(change, other), now=SOME_MOMENT)
    for frame in store.frames_since(before):
        feed.observe(frame)
    (offered,) = (
        piece
        for piece in store.read(lambda reader: feed.flush(reader, SOME_MOMENT))
        if isinstance(piece, Html)
    )
    assert offered.target == "volumes-offered"
    assert "later" in offered.html
    assert "fixed" in offered.html


def test_who_may_not_delete_is_told_which_right_that_needs(store, volume):
    reader = Browser(account_with(store, 'namespace "default" { policy = "read" }'))
    page = reader.get(url(volume)).text
    assert "host-volume-delete" in page
    assert 'action="/volumes/delete/"' not in page


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"name": ""}, "missing name"),
        ({"least": "5", "most": "1"}, "capacity_max"),
        ({"least": "x"}, "The least size must be a whole number of MiB"),
        ({"plugin": "other"}, "1 nodes were infeasible"),
        ({}, "No path to node"),
    ],
)
def test_a_volume_that_cannot_be_made_is_told_and_leaves_nothing(
    browser, store, node, fields, said
):
    answer = browser.post("/volumes/new/", **FORM | fields)
    assert answer.status in {400, 404}
    assert "Nothing was made." in answer.text
    assert said in answer.text
    assert store.read(lambda reader: reader.list_all(HOST_VOLUMES)) == []


def test_a_deletion_is_typed(browser, store, volume):
    sent = {"namespace": "default", "id": volume.id, "name": "data", "typed": "dat"}
    browser.post("/volumes/delete/", **sent)
    assert "Nothing was deleted: type data to confirm." in browser.get(url(volume)).text

    browser.post("/volumes/delete/", **sent | {"typed": "data"})
    page = browser.get(url(volume)).text
    assert "Nothing was deleted. No path to node." in page

    browser.post("/volumes/delete/", **sent | {"typed": "data", "force": "on"})
    assert "The volume data is deleted." in browser.get("/volumes/").text
    assert store.read(lambda reader: reader.list_all(HOST_VOLUMES)) == []
