"""Host volumes for people: listed by right, one with its use, made and deleted by form."""

import pytest

from cluster.operations.host_volumes import begin_volume
from scheduler.access.caller import CLUSTER
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.volume_nouns import HOST_VOLUMES
from scheduler.state.writes.jobs import write_job
from scheduler.state.writes.volumes import claim_volumes
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.host_volume import DynamicVolume
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
    assert "<strong>1 volume in 1 namespace.</strong> 1 pending." in page
    assert url(volume) in page
    assert f"/nodes/{volume.node_id}/" in page
    assert "Offered by nodes" in page
    assert "fixed" in page


def test_it_is_narrowed_by_the_beginning_of_a_name(browser, volume):
    assert url(volume) in browser.get("/volumes/?named=da").text
    page = browser.get("/volumes/?named=x").text
    assert url(volume) not in page
    assert "No such volume" in page


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
