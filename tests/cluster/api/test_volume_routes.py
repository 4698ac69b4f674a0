"""Host volumes made on demand, through the API to an agent's keeper and back."""

import asyncio
import stat
from pathlib import Path

import pytest
from msgspec.structs import replace

from cluster.agent.agent_state import DiskStorage
from cluster.agent.channel_client import AnswerRefused
from cluster.agent.volume_keeper import VolumeKeeper
from cluster.operations.agent_calls import LINKS, AgentRefused
from cluster.operations.nodes import purge_node, register_node, update_status
from scheduler.access.caller import CLUSTER
from scheduler.state.found_rows import put_found
from scheduler.state.nouns import NAMESPACES
from scheduler.state.volume_nouns import HOST_VOLUMES, VOLUME_CLAIMS
from scheduler.state.writes.jobs import purge_job, write_job
from scheduler.state.writes.volumes import claim_volumes
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.job import Namespace
from scheduler.structs.node import HostVolume, NodeStatus
from scheduler.structs.task_group import VolumeAsk
from tests.builders import CountingIDs, make_allocation, make_job, make_node, make_task_group
from tests.cluster.api.clients import NOW, first_lines, put

VOLUME = {"Name": "data", "PluginID": "mkdir"}
NOBODY = "99999999-0000-0000-0000-000000000000"


class Site:
    """A node with a real keeper of volumes; it registers whenever that has something new."""

    def __init__(self, store, number, directory):
        self.store = store
        self.directory = directory
        self.seen = make_node(number, host_volumes={})
        self.ids = CountingIDs()
        self.tasks = []
        self.open()

    def open(self):
        self.storage = DiskStorage(self.directory / "state", self.directory / "alloc")
        self.keeper = VolumeKeeper(
            self.directory / "volumes",
            self.directory / "plugins",
            self.seen.id,
            self.storage,
            lambda: {"fixed": HostVolume(name="fixed", path="/srv")},
        )
        self.keeper.changed = lambda: self.tasks.append(asyncio.create_task(self.register()))

    def reopen(self):
        self.storage.close()
        self.open()

    @property
    def node(self):
        return replace(
            self.seen,
            attributes={**self.seen.attributes, **self.keeper.attributes},
            host_volumes={
                "fixed": HostVolume(name="fixed", path="/srv"),
                **self.keeper.offered,
            },
        )

    async def register(self):
        return await self.store.awrite_call(
            register_node,
            self.node,
            by=CLUSTER,
            secret="s",
            may_join=True,
            now=NOW,
            ids=self.ids,
        )

    async def settle(self):
        while self.tasks:
            await self.tasks.pop()

    async def call(self, node_id, verb, body, _given=None):
        assert node_id == self.seen.id
        try:
            async for piece in self.keeper.verbs[verb](body):
                yield piece
        except AnswerRefused as refused:
            raise AgentRefused(refused.status, str(refused)) from refused


@pytest.fixture
async def site(store, tmp_path):
    site = Site(store, 1, tmp_path)
    await site.register()
    await store.awrite_call(
        update_status, site.seen.id, NodeStatus.READY, by=CLUSTER, now=NOW, ids=site.ids
    )
    LINKS.add((site.seen.id,), site)
    yield site
    LINKS.remove(site)
    await site.settle()
    site.storage.close()


async def create(api, site, verb="create", **fields):
    answer = await api.put(f"/v1/volume/host/{verb}", {"Volume": VOLUME | fields})
    assert answer.status == 200, answer.text
    await site.settle()
    return answer.json["Volume"]


async def read(api, volume):
    return (await api.get(f"/v1/volume/host/{volume['ID']}")).json


async def refused(api, **fields):
    answer = await api.put("/v1/volume/host/create", {"Volume": VOLUME | fields})
    assert answer.status == 400
    return answer.text


async def run_with(store, site, *, sticky=False, status=ClientStatus.RUNNING, **fields):
    """An allocation on the node whose group uses the volume, and its job."""
    ask = VolumeAsk(name="v", type="host", source="data", sticky=sticky)
    job = make_job(task_groups=(make_task_group(volumes={"v": ask}),))

    def work(change):
        stored = write_job(change, job)
        alloc = make_allocation(stored, node_id=site.seen.id, client_status=status, **fields)
        put_found(change, alloc)
        claim_volumes(change, alloc)

    await store.awrite_call(put, work)
    [alloc] = await store.aread(lambda reader: reader.allocations_by_job(job.key))
    return alloc, job


async def test_a_volume_is_made_on_a_node_and_ready_once_that_tells_of_it(api, site):
    volume = await create(api, site, Parameters={"mode": "0750"})

    told = await read(api, volume)
    path = Path(told["HostPath"])
    assert told["State"] == "ready"
    assert path == site.directory / "volumes" / volume["ID"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o750
    assert told["NodeID"] == site.seen.id
    assert told["RequestedCapabilities"] == [
        {"AttachmentMode": "file-system", "AccessMode": "single-node-writer"}
    ]
    assert "Allocations" not in told
    [listed] = (await api.get("/v1/volumes", type="host")).json
    assert listed["State"] == "ready"
    assert listed["Name"] == "data"
    assert "HostPath" not in listed
    found = await api.put("/v1/search", {"Prefix": volume["ID"][:6], "Context": "host_volumes"})
    assert found.json["Matches"] == {"host_volumes": [volume["ID"]]}


async def test_the_node_says_which_plugins_it_has(api, site):
    node = (await api.get(f"/v1/node/{site.seen.id}")).json
    assert node["Attributes"]["plugins.host_volume.mkdir.version"] == "0.0.1"


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        pytest.param({"Name": ""}, "missing name", id="name"),
        pytest.param({"ID": "zz"}, 'invalid ID "zz"', id="id"),
        pytest.param(
            {"RequestedCapacityMinBytes": 5, "RequestedCapacityMaxBytes": 1},
            "capacity_max (1) must be larger than capacity_min (5)",
            id="capacity",
        ),
        pytest.param(
            {"RequestedCapabilities": [{"AttachmentMode": "y", "AccessMode": "z"}]},
            'invalid attachment mode: "y"\n\t* invalid access mode: "z"',
            id="capability",
        ),
        pytest.param(
            {"PluginID": "other"},
            'could not place volume "data": no node meets constraints: 0 nodes had existing'
            " volume, 0 nodes filtered by node pool governance, 1 nodes were infeasible",
            id="plugin",
        ),
        pytest.param(
            {"Constraints": [{"LTarget": "${attr.kernel.name}", "RTarget": "none"}]},
            "1 nodes were infeasible",
            id="constraint",
        ),
        pytest.param(
            {"NodeID": NOBODY}, f'against state failed: node "{NOBODY}" does not exist', id="node"
        ),
        pytest.param({"Namespace": "none"}, 'namespace "none" does not exist', id="namespace"),
        pytest.param({"Parameters": {"x": "1"}}, 'unknown mkdir parameter: "x"', id="parameter"),
        pytest.param({"Name": "fixed"}, "1 nodes had existing volume", id="static-name"),
    ],
)
async def test_what_cannot_be_made_leaves_nothing(api, site, store, fields, text):
    assert text in await refused(api, **fields)
    assert (await api.get("/v1/volumes", type="host", namespace="*")).json == []
    assert list(site.directory.glob("volumes/*")) == []


async def test_every_problem_is_named_at_once(api, site):
    text = await refused(api, Name="", RequestedCapacityMinBytes=-1, PluginID="a/b")
    assert text.startswith("volume validation failed: 3 errors occurred:")


async def test_a_name_stands_once_on_a_node(api, site):
    await create(api, site)
    assert "1 nodes had existing volume" in await refused(api)


async def test_one_that_is_there_is_registered_and_only_forgotten(api, site, tmp_path):
    place = tmp_path / "mine"
    place.mkdir()
    volume = await create(
        api, site, "register", PluginID="", NodeID=site.seen.id, HostPath=str(place)
    )
    assert (await read(api, volume))["State"] == "ready"
    assert (await read(api, volume))["HostPath"] == str(place)

    answer = await api.delete(f"/v1/volume/host/{volume['ID']}")

    assert answer.status == 200
    assert place.is_dir()


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"HostPath": "/x"}, "cannot register volume: node ID is required"),
        ({"NodeID": NOBODY}, "cannot register volume: host path is required"),
    ],
)
async def test_a_registration_says_where_it_is(api, site, fields, text):
    answer = await api.put("/v1/volume/host/register", {"Volume": {"Name": "data"} | fields})
    assert (answer.status, answer.text) == (400, text)


async def test_a_path_that_is_not_there_is_not_registered(api, site):
    given = {"Name": "data", "NodeID": site.seen.id, "HostPath": "/nowhere"}
    answer = await api.put("/v1/volume/host/register", {"Volume": given})
    assert answer.text == 'could not verify host path for "data": /nowhere is no directory'
    assert (await api.get("/v1/volumes", type="host")).json == []


async def test_deleting_takes_the_directory_along_unless_somebody_uses_it(api, site, store):
    volume = await create(api, site)
    alloc, _ = await run_with(store, site)
    told = await read(api, volume)
    assert [each["ID"] for each in told["Allocations"]] == [alloc.id]

    in_use = await api.delete(f"/v1/volume/host/{volume['ID']}")
    assert in_use.text == f"volume {volume['ID']} in use by allocations: [{alloc.id}]"
    assert (await read(api, volume))["State"] == "ready"

    await store.awrite_call(
        put, lambda change: put_found(change, alloc.changed(client_status=ClientStatus.COMPLETE))
    )
    assert (await api.delete(f"/v1/volume/host/{volume['ID']}")).status == 200
    await site.settle()
    assert not Path(told["HostPath"]).exists()
    assert (await api.get(f"/v1/volume/host/{volume['ID']}")).text == "volume not found"
    assert "data" not in (await store.aread(lambda r: r.node(site.seen.id))).host_volumes


async def test_a_volume_whose_agent_is_away_is_forgotten_by_force_alone(api, site):
    volume = await create(api, site)
    LINKS.remove(site)

    away = await api.delete(f"/v1/volume/host/{volume['ID']}")
    assert (away.status, away.text) == (404, "No path to node")
    assert (await read(api, volume))["State"] == "ready"

    wrong = await api.delete(f"/v1/volume/host/{volume['ID']}", force="maybe")
    assert (wrong.status, wrong.text) == (400, "invalid force value")
    assert (await api.delete(f"/v1/volume/host/{volume['ID']}", force="true")).status == 200


async def test_its_node_down_or_gone_makes_it_unavailable_and_its_return_ready(api, site, store):
    volume = await create(api, site)

    async def become(status):
        await store.awrite_call(
            update_status, site.seen.id, status, by=CLUSTER, now=NOW, ids=site.ids
        )
        return (await read(api, volume))["State"]

    assert await become(NodeStatus.DOWN) == "unavailable"
    assert await become(NodeStatus.READY) == "ready"
    await store.awrite_call(purge_node, site.seen.id, by=CLUSTER, now=NOW, ids=site.ids)
    assert (await read(api, volume))["State"] == "unavailable"


async def test_a_volume_outlives_its_agent_and_one_that_is_lost_is_told(api, site):
    volume = await create(api, site)
    site.reopen()
    assert site.keeper.offered["data"].id == volume["ID"]

    (site.directory / "volumes" / volume["ID"]).rmdir()
    (site.directory / "volumes").rmdir()
    (site.directory / "volumes").write_text("in the way")
    site.reopen()
    await site.register()
    assert site.keeper.offered == {}
    assert (await read(api, volume))["State"] == "unavailable"


async def test_a_change_keeps_node_and_size(api, site):
    volume = await create(api, site)
    changed = await create(
        api,
        site,
        ID=volume["ID"],
        RequestedCapabilities=[
            {"AttachmentMode": "file-system", "AccessMode": "single-node-multi-writer"}
        ],
    )
    assert changed["ID"] == volume["ID"]
    [use] = (await read(api, volume))["RequestedCapabilities"]
    assert use["AccessMode"] == "single-node-multi-writer"

    text = await refused(api, ID=volume["ID"], NodeID=NOBODY, NodePool="other")
    assert text.endswith("node ID cannot be updated; node pool cannot be updated")


async def test_groups_stick_to_volumes_until_the_claim_or_the_job_is_gone(api, site, store):
    volume = await create(api, site)
    alloc, job = await run_with(store, site, sticky=True)

    [claim] = (await api.get("/v1/volumes/claims", job_id=job.id)).json
    assert claim["AllocID"] == alloc.id
    assert (claim["VolumeID"], claim["VolumeName"]) == (volume["ID"], "data")
    assert (await api.delete(f"/v1/volumes/claim/{claim['ID']}")).status == 200
    assert (await api.get("/v1/volumes/claims")).json == []
    none = await api.delete(f"/v1/volumes/claim/{claim['ID']}")
    assert (none.status, none.text) == (404, "task group volume claim does not exist")

    await store.awrite_call(put, lambda change: claim_volumes(change, alloc))
    assert len((await api.get("/v1/volumes/claims")).json) == 1
    await store.awrite_call(put, lambda change: purge_job(change, job.key))
    assert (await api.get("/v1/volumes/claims")).json == []


async def test_claims_go_with_their_volume(api, site, store):
    volume = await create(api, site)
    await run_with(store, site, sticky=True, status=ClientStatus.COMPLETE)
    await api.delete(f"/v1/volume/host/{volume['ID']}")
    assert await store.aread(lambda reader: reader.list_all(VOLUME_CLAIMS)) == []


async def test_programs_of_the_node_s_owner_make_volumes_too(api, site):
    plugins = site.directory / "plugins"
    plugins.mkdir()
    place = site.directory / "special"
    program = plugins / "special"
    program.write_text(
        "#!/bin/sh\n"
        "case $1 in\n"
        '  fingerprint) echo \'{"version": "1.2"}\'; exit;;\n'
        "esac\n"
        "case $DHV_VOLUME_NAME-$1 in\n"
        "  broken-*) echo half a word; exit 3;;\n"
        '  full-*) echo \'{"error": "no room"}\'; exit 4;;\n'
        "esac\n"
        "case $1 in\n"
        f'  create) mkdir -p {place}; env | sort > {place}/env;'
        f' echo \'{{"path": "{place}", "bytes": 4096}}\';;\n'
        '  delete) rm -r "$DHV_CREATED_PATH"; echo "{}";;\n'
        "esac\n"
    )  # fmt: skip
    program.chmod(0o755)
    (plugins / "plain").write_text("no program")
    site.reopen()
    await site.register()

    for name, why in (("broken", "exit status 3"), ("full", "exit status 4: no room")):
        asked = {"Name": name, "NodeID": site.node.id, "PluginID": "special"}
        refused = await api.put("/v1/volume/host/create", {"Volume": asked})
        head, _, told = refused.text.partition(' with plugin "special": ')
        assert (head.startswith("error creating volume"), told.strip()) == (True, why)
    volume = await create(api, site, PluginID="special", RequestedCapacityMinBytes=10)

    told = await read(api, volume)
    assert (told["HostPath"], told["CapacityBytes"]) == (str(place), 4096)
    environment = (place / "env").read_text()
    assert "DHV_VOLUME_NAME=data\n" in environment
    assert "DHV_CAPACITY_MIN_BYTES=10\n" in environment
    assert "HOME=" not in environment
    assert (await api.delete(f"/v1/volume/host/{volume['ID']}")).status == 200
    assert not place.exists()


async def test_only_the_namespace_of_a_volume_knows_it(api, site, store):
    await store.awrite_call(
        put, lambda change: change.put(NAMESPACES, Namespace(name="team", create_index=1))
    )
    volume = await create(api, site, Namespace="team")
    assert (await api.get(f"/v1/volume/host/{volume['ID']}")).status == 404
    found = await api.get(f"/v1/volume/host/{volume['ID']}", namespace="team")
    assert found.json["Name"] == "data"
    assert (await api.get("/v1/volumes", type="host")).json == []
    assert len((await api.get("/v1/volumes", type="host", namespace="*")).json) == 1
    kept = await api.delete("/v1/namespace/team")
    assert 'namespace "team" has volumes associated with it' in kept.text


async def test_the_stream_tells_of_volumes(api, site):
    stream = await api.get("/v1/event/stream", topic="HostVolume", index="1")
    await create(api, site)
    lines = await first_lines(stream, 2)
    event = next(event for line in lines for event in line.get("Events", ()))
    assert (event["Topic"], event["Type"]) == ("HostVolume", "HostVolumeRegistered")
    assert event["Payload"]["Volume"]["Name"] == "data"


async def test_other_kinds_are_empty_or_unknown(api):
    assert (await api.get("/v1/volumes")).json == []
    assert (await api.get("/v1/volumes", type="csi")).json == []
    assert (await api.get("/v1/volumes", type="x")).text == "resource not found"
    assert (await api.get("/v1/volume/csi/x")).status == 404


async def test_the_record_has_what_the_answer_tells(api, site, store):
    volume = await create(api, site)
    stored = await store.aread(lambda reader: reader.get(HOST_VOLUMES, volume["ID"]))
    assert stored.host_path == volume["HostPath"]
    assert stored.modify_index >= volume["ModifyIndex"] > stored.create_index


async def test_kinds_that_nobody_knows_have_no_volumes_and_no_plugins(api):
    volumes = await api.get("/v1/volumes", type="x")
    assert (volumes.status, volumes.text.strip()) == (404, "resource not found")
    assert (await api.get("/v1/plugins", type="x")).json == []
    for kind in ({}, {"type": "csi"}):
        assert (await api.get("/v1/plugins", **kind)).json == []
        assert (await api.get("/v1/volumes", **kind)).json == []
