"""What a task finds in its environment, and what `${...}` stands for."""

import dataclasses
from pathlib import Path

import pytest
from msgspec.structs import replace

from cluster.agent.drivers.driver import TaskDirectories
from cluster.agent.task_environment import TaskPlace, interpolated, task_variables
from scheduler.structs.allocation import NetworkStatus
from scheduler.structs.job import ParameterizedJob
from scheduler.structs.network import AllocatedPort, NetworkResource, Port
from scheduler.structs.resources import (
    AllocatedResources,
    AllocatedSharedResources,
    AllocatedTaskResources,
)
from tests.builders import make_allocation, make_job, make_node, make_task, make_task_group

HOST = {
    "PATH": "/bin",
    "NOMAD_TOKEN": "secret",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "BIVOUAC_JOIN_TOKEN": "secret",
    "DATABASE_URL": "secret",
}


def make_place(ports=(), **task):
    task = make_task(**task)
    group = make_task_group(tasks=(task,), meta={"tier": "group", "b-c": "dashed"})
    job = make_job(task_groups=(group,), meta={"tier": "job", "owner": "me"})
    alloc = make_allocation(job, 3)
    if ports:
        shared = AllocatedSharedResources(ports=ports)
        alloc = alloc.changed(allocated_resources=AllocatedResources(shared=shared))
    node = make_node(meta={"rack": "r1"}, node_class="big")
    places = TaskDirectories(root=Path("/a/web"), shared=Path("/a/alloc"))
    return TaskPlace(node=node, alloc=alloc, job=job, group=group, task=task, directories=places)


def test_a_task_knows_where_it_is():
    place = make_place()
    assert task_variables(place, {}) == {
        "NOMAD_ALLOC_DIR": "/a/alloc",
        "NOMAD_TASK_DIR": "/a/web/local",
        "NOMAD_SECRETS_DIR": "/a/web/secrets",
        "NOMAD_ALLOC_ID": place.alloc.id,
        "NOMAD_SHORT_ALLOC_ID": place.alloc.id[:8],
        "NOMAD_ALLOC_NAME": "web.web[3]",
        "NOMAD_ALLOC_INDEX": "3",
        "NOMAD_TASK_NAME": "web",
        "NOMAD_GROUP_NAME": "web",
        "NOMAD_JOB_ID": "web",
        "NOMAD_JOB_NAME": "web",
        "NOMAD_DC": "dc1",
        "NOMAD_REGION": "global",
        "NOMAD_NAMESPACE": "default",
        "NOMAD_CPU_LIMIT": "500",
        "NOMAD_CPU_CORES": " ",
        "NOMAD_MEMORY_LIMIT": "256",
        "NOMAD_META_tier": "group",
        "NOMAD_META_TIER": "group",
        "NOMAD_META_owner": "me",
        "NOMAD_META_OWNER": "me",
        "NOMAD_META_b_c": "dashed",
        "NOMAD_META_B_C": "dashed",
    }


def test_a_dispatched_task_finds_every_key_that_its_job_may_be_given():
    rules = ParameterizedJob(meta_required=("image",), meta_optional=("width", "tier", "height"))
    place = make_place()
    meta = {"image": "cat.png", "height": "40"}
    child = replace(
        place.job, parent_id="resize", dispatched=True, parameterized_job=rules, meta=meta
    )
    found = task_variables(dataclasses.replace(place, job=child), {})
    told = {name: value for name, value in found.items() if name.startswith("NOMAD_META_")}
    assert found["NOMAD_JOB_PARENT_ID"] == "resize"
    assert told == {
        "NOMAD_META_image": "cat.png",
        "NOMAD_META_IMAGE": "cat.png",
        "NOMAD_META_height": "40",
        "NOMAD_META_HEIGHT": "40",
        "NOMAD_META_width": "",
        "NOMAD_META_WIDTH": "",
        # What the group says goes before.
        "NOMAD_META_tier": "group",
        "NOMAD_META_TIER": "group",
        "NOMAD_META_b_c": "dashed",
        "NOMAD_META_B_C": "dashed",
    }


def with_groups(version):
    place = make_place()
    attributes = {**place.node.attributes, "os.cgroups.version": version}
    return dataclasses.replace(place, node=replace(place.node, attributes=attributes))


@pytest.mark.parametrize(
    ("version", "parent"), [("1", "bivouac"), ("2", "bivouac.slice"), ("", None)]
)
def test_a_task_knows_below_which_control_group_its_own_is(version, parent):
    variables = task_variables(with_groups(version), {})
    assert variables.get("NOMAD_PARENT_CGROUP") == parent


def test_a_task_knows_its_own_ports_and_those_of_the_tasks_beside_it():
    def network(label, ip="192.0.2.1"):
        return NetworkResource(ip=ip, dynamic_ports=(Port(label=label, value=21000),))

    granted = AllocatedResources(
        tasks={
            "web": AllocatedTaskResources(networks=(network("in"),)),
            "side-car": AllocatedTaskResources(networks=(network("db", "fd00::1"),)),
        }
    )
    place = make_place()
    place = dataclasses.replace(place, alloc=place.alloc.changed(allocated_resources=granted))
    variables = task_variables(place, {})
    assert {key: text for key, text in variables.items() if key.endswith(("_in", "_db"))} == {
        "NOMAD_IP_in": "192.0.2.1",
        "NOMAD_IPv4_in": "192.0.2.1",
        "NOMAD_PORT_in": "21000",
        "NOMAD_ALLOC_PORT_in": "21000",
        "NOMAD_HOST_PORT_in": "21000",
        "NOMAD_ADDR_in": "192.0.2.1:21000",
        "NOMAD_IP_side_car_db": "fd00::1",
        "NOMAD_PORT_side_car_db": "21000",
        "NOMAD_ADDR_side_car_db": "[fd00::1]:21000",
    }


def test_secrets_of_the_host_are_kept_from_tasks():
    variables = task_variables(make_place(), HOST)
    assert {name for name in HOST if name in variables} == {"PATH"}


@pytest.mark.parametrize(
    ("port", "expected"),
    [
        pytest.param(
            AllocatedPort(label="http", value=21000, to=80, host_ip="10.0.0.1"),
            {"PORT": "80", "ALLOC_PORT": "80", "ADDR": "10.0.0.1:21000", "HOST_PORT": "21000"},
            id="mapped",
        ),
        pytest.param(
            AllocatedPort(label="http", value=21000, host_ip="fd00::1"),
            {"PORT": "21000", "ADDR": "[fd00::1]:21000", "IP": "fd00::1"},
            id="ipv6",
        ),
    ],
)
def test_ports(port, expected):
    variables = task_variables(make_place(ports=(port,)), {})
    assert {key: variables[f"NOMAD_{key}_http"] for key in expected} == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("${node.datacenter}/${node.class}", "dc1/big", id="node"),
        pytest.param("${attr.kernel.name} ${meta.rack}", "linux r1", id="attributes"),
        pytest.param('${attr["kernel.name"]}', "linux", id="quoted"),
        pytest.param("${NOMAD_ALLOC_INDEX}", "3", id="own-variable"),
        pytest.param('${env["OWN"]}', "x", id="own-env"),
        pytest.param("${no.such.thing}", "${no.such.thing}", id="unknown-stays"),
        pytest.param("$HOME $${x", "$HOME $${x", id="not-a-reference"),
    ],
)
def test_references(text, value):
    place = make_place(env={"OWN": "x"})
    variables = task_variables(place, {})
    config = {"args": [text], "nested": {text: (text, 1)}}
    expected = {"args": [value], "nested": {value: (value, 1)}}
    assert interpolated(place, variables, config) == expected


def test_the_tasks_own_env_wins_and_may_refer_to_the_rest():
    place = make_place(env={"PATH": "/own", "WHERE": "${node.unique.name}-${NOMAD_TASK_NAME}"})
    variables = task_variables(place, HOST)
    assert (variables["PATH"], variables["WHERE"]) == ("/own", "node-1-web")


def test_metadata_may_speak_of_the_node():
    place = make_place(meta={"where": "${node.class} ${meta.rack} ${NOMAD_DC}", "odd": "${x.y}"})
    variables = task_variables(place, {})
    assert variables["NOMAD_META_where"] == variables["NOMAD_META_WHERE"] == "big r1 dc1"
    assert variables["NOMAD_META_odd"] == "${x.y}"


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        pytest.param("172.26.64.9", "172.26.64.9", id="IPv4"),
        pytest.param("fd00::9", "[fd00::9]", id="IPv6"),
    ],
)
def test_a_task_with_a_network_of_its_own_knows_its_address_there(address, shown):
    ports = (
        AllocatedPort(label="http", value=20001, to=8080, host_ip="192.0.2.1"),
        AllocatedPort(label="ad min", value=20002, host_ip="192.0.2.1"),
    )
    status = NetworkStatus(interface_name="eth0", address=address)
    place = dataclasses.replace(make_place(ports), network=status)
    found = task_variables(place, {})
    assert {key: text for key, text in found.items() if key.startswith("NOMAD_ALLOC_I")} == {
        "NOMAD_ALLOC_ID": place.alloc.id,
        "NOMAD_ALLOC_INDEX": "3",
        "NOMAD_ALLOC_INTERFACE_http": "eth0",
        "NOMAD_ALLOC_INTERFACE_ad_min": "eth0",
        "NOMAD_ALLOC_IP_http": address,
        "NOMAD_ALLOC_IP_ad_min": address,
    }
    assert found["NOMAD_ALLOC_ADDR_http"] == f"{shown}:8080"
    assert found["NOMAD_ALLOC_ADDR_ad_min"] == f"{shown}:20002"
    assert found["NOMAD_ADDR_http"] == "192.0.2.1:20001"
