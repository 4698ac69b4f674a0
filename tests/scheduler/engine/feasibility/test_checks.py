"""The lasting checks, each on single nodes: what is refused, and under which label."""

import msgspec
import pytest

from scheduler.engine.feasibility.check import FeasibilityAsk
from scheduler.engine.feasibility.verdict import judge
from scheduler.state.node_table import NodeTable
from scheduler.structs.constraint import Constraint
from scheduler.structs.device import DeviceGroup, DeviceInstance, RequestedDevice
from scheduler.structs.network import NetworkResource, NodeNetwork, NodeNetworkAddress, Port
from scheduler.structs.node import DriverInfo, HostVolume
from scheduler.structs.resources import Resources
from scheduler.structs.task_group import SecretAsk, VolumeAsk
from tests.builders import make_job, make_node, make_task, make_task_group
from tests.scheduler.engine.patterns import Patterns


def refusal(node, *, group=None, alloc_name="", **job):
    """Why the node is refused; "" when it is not."""
    group = group or make_task_group()
    verdict = judge(
        FeasibilityAsk(
            NodeTable.build([node], {}),
            make_job(task_groups=(group,), **job),
            group,
            Patterns(),
            alloc_name,
        )
    )
    return verdict.reasons[verdict.reason_codes[0]]


def constraint(l_target, operand, r_target):
    return Constraint(l_target=l_target, operand=operand, r_target=r_target)


LINUX = constraint("${attr.kernel.name}", "=", "linux")
WINDOWS = constraint("${attr.kernel.name}", "=", "windows")
SAME = constraint("${node.datacenter}", "=", "${meta.home}")


@pytest.mark.parametrize(
    ("node", "job", "group", "expected"),
    [
        pytest.param(make_node(), [LINUX], [], "", id="holds"),
        pytest.param(make_node(), [WINDOWS], [], "${attr.kernel.name} = windows", id="job"),
        pytest.param(make_node(), [LINUX], [WINDOWS], WINDOWS.label, id="T18-group"),
        pytest.param(make_node(), [WINDOWS], [SAME], WINDOWS.label, id="job-comes-first"),
        pytest.param(make_node(meta={"home": "dc1"}), [SAME], [], "", id="two-targets"),
        pytest.param(make_node(meta={"home": "dc2"}), [SAME], [], SAME.label, id="two-differ"),
        pytest.param(make_node(), [SAME], [], SAME.label, id="right-side-missing"),
        pytest.param(
            make_node(),
            [constraint("${meta.x}", "is_set", "")],
            [],
            "${meta.x} is_set ",
            id="label-of-an-empty-target-ends-in-a-blank",
        ),
    ],
)
def test_constraints(node, job, group, expected):
    asked = make_task_group(constraints=tuple(group))
    assert refusal(node, group=asked, constraints=tuple(job)) == expected


def test_constraints_of_tasks_come_after_those_of_the_group():
    task = make_task(constraints=(WINDOWS,))
    assert refusal(make_node(), group=make_task_group(tasks=(task,))) == WINDOWS.label


def driver_node(reported=None, **attributes):
    drivers = (
        {} if reported is None else {"exec": DriverInfo(detected=reported[0], healthy=reported[1])}
    )
    return make_node(drivers=drivers, attributes=attributes)


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        pytest.param(driver_node((True, True)), "", id="T19-healthy"),
        pytest.param(driver_node((True, False)), "missing drivers", id="T19-unhealthy"),
        pytest.param(driver_node((False, True)), "missing drivers", id="T19-undetected"),
        pytest.param(
            driver_node((True, False), **{"driver.exec": "1"}), "missing drivers", id="told"
        ),
        pytest.param(driver_node(**{"driver.exec": "1"}), "", id="T19-attribute-1"),
        pytest.param(driver_node(**{"driver.exec": "true"}), "", id="T19-attribute-true"),
        pytest.param(driver_node(**{"driver.exec": "0"}), "missing drivers", id="T19-attribute-0"),
        pytest.param(driver_node(**{"driver.exec": "False"}), "missing drivers", id="T19-False"),
        pytest.param(driver_node(), "missing drivers", id="nothing-known"),
    ],
)
def test_drivers(node, expected):
    group = make_task_group(tasks=(make_task(driver="exec"),))
    assert refusal(node, group=group) == expected


@pytest.mark.parametrize(
    ("attribute", "expected"),
    [
        pytest.param("plugins.secrets.vault.version", "", id="T20-present"),
        pytest.param("plugins.secrets.other.version", "missing secrets provider", id="T20-other"),
        pytest.param("x", "missing secrets provider", id="T20-absent"),
    ],
)
def test_secrets(attribute, expected):
    node = make_node(attributes={"driver.mock_driver": "1", attribute: "1"})
    task = make_task(secrets=(SecretAsk(name="s", provider="vault"),))
    assert refusal(node, group=make_task_group(tasks=(task,))) == expected


def networked(*modes, version="", aliases=("default",), meta=None):
    node = make_node(meta=meta or {})
    return msgspec.structs.replace(
        node,
        attributes=node.attributes | ({"nomad.version": version} if version else {}),
        node_resources=msgspec.structs.replace(
            node.node_resources,
            networks=tuple(NetworkResource(mode=mode) for mode in modes),
            node_networks=(
                NodeNetwork(addresses=tuple(NodeNetworkAddress(alias=name) for name in aliases)),
            ),
        ),
    )


def in_network(mode, **ports):
    return make_task_group(networks=(NetworkResource(mode=mode, **ports),))


@pytest.mark.parametrize(
    ("node", "group", "expected"),
    [
        pytest.param(networked("host"), in_network("host"), "", id="T21-host"),
        pytest.param(networked(""), in_network(""), "", id="T21-empty-mode-is-host"),
        pytest.param(networked("bridge"), in_network("bridge"), "", id="T21-bridge"),
        pytest.param(networked("cni/x"), in_network("cni/x"), "", id="T21-cni"),
        pytest.param(networked(), in_network("none"), "", id="T21-none"),
        pytest.param(networked("host"), in_network("cni/x"), "missing network", id="T21-missing"),
        pytest.param(networked(), make_task_group(), "missing network", id="T21-no-block-is-host"),
        pytest.param(networked("host", version="0.11.3"), in_network("bridge"), "", id="T22-old"),
        pytest.param(
            networked("host", version="0.12.0"),
            in_network("bridge"),
            "missing network",
            id="T22-new",
        ),
    ],
)
def test_network_modes(node, group, expected):
    assert refusal(node, group=group) == expected


def port(host_network):
    return {"dynamic_ports": (Port(label="http", host_network=host_network),)}


@pytest.mark.parametrize(
    ("host_network", "expected"),
    [
        pytest.param("public", "", id="T23-literal"),
        pytest.param("private", 'missing host network "private" for port "http"', id="T23-alias"),
        pytest.param("${meta.net}", "", id="T23-interpolated"),
        pytest.param(
            "${meta.other}", 'missing host network "lan" for port "http"', id="T23-wrong-alias"
        ),
        pytest.param(
            "${meta.gone}",
            'invalid host network "${meta.gone}" template for port "http"',
            id="T23-unresolved",
        ),
        pytest.param(
            "${meta.net}-suffix",
            'invalid host network "${meta.net}-suffix" template for port "http"',
            id="T23-no-partial-interpolation",
        ),
    ],
)
def test_host_networks(host_network, expected):
    node = networked("host", aliases=("public",), meta={"net": "public", "other": "lan"})
    assert refusal(node, group=in_network("host", **port(host_network))) == expected


def gpu_node(*groups):
    node = make_node()
    return msgspec.structs.replace(
        node, node_resources=msgspec.structs.replace(node.node_resources, devices=groups)
    )


def gpus(name="t4", count=1, *, healthy=True, vendor="nvidia"):
    return DeviceGroup(
        vendor=vendor,
        type="gpu",
        name=name,
        instances=tuple(DeviceInstance(id=f"{name}{n}", healthy=healthy) for n in range(count)),
    )


@pytest.mark.parametrize(
    ("groups", "name", "count", "expected"),
    [
        pytest.param([gpus()], "gpu", 1, "", id="T24-type"),
        pytest.param([gpus()], "nvidia/gpu", 1, "", id="T24-vendor"),
        pytest.param([gpus()], "nvidia/gpu/t4", 1, "", id="T24-full"),
        pytest.param([gpus()], "amd/gpu", 1, "missing devices", id="T24-wrong-vendor"),
        pytest.param([gpus(healthy=False)], "gpu", 1, "missing devices", id="T24-unhealthy"),
        pytest.param([gpus()], "gpu", 2, "missing devices", id="T24-too-many"),
        pytest.param([gpus("a"), gpus("b")], "gpu", 2, "", id="T24-two-models-together"),
        pytest.param([], "gpu", 1, "missing devices", id="none-at-all"),
    ],
)
def test_devices(groups, name, count, expected):
    request = RequestedDevice(name=name, count=count)
    task = make_task(resources=Resources(cpu=1, memory_mb=10, devices=(request,)))
    group = make_task_group(tasks=(task,))
    assert refusal(gpu_node(*groups), group=group) == expected


MISSING = "missing compatible host volumes"
WITH_VOLUMES = make_node(
    host_volumes={
        "data": HostVolume(name="data"),
        "fixed": HostVolume(name="fixed", read_only=True),
        "shard[2]": HostVolume(name="shard[2]"),
        "made": HostVolume(name="made", id="some-id"),
    }
)


def volume(source, **fields):
    return VolumeAsk(name=source, type="host", source=source, **fields)


@pytest.mark.parametrize(
    ("volumes", "expected"),
    [
        pytest.param([volume("data")], "", id="T26-there"),
        pytest.param([volume("other")], MISSING, id="T26-missing"),
        pytest.param([volume("data"), volume("other")], MISSING, id="T26-one-of-two"),
        pytest.param([volume("fixed", read_only=True)], "", id="T26-read-only"),
        pytest.param([volume("fixed")], MISSING, id="T26-not-writable"),
        pytest.param([volume("shard", per_alloc=True)], "", id="T26-per-allocation"),
        pytest.param([volume("data", per_alloc=True)], MISSING, id="T30-no-such-index"),
        pytest.param([volume("data", sticky=True)], MISSING, id="T27-sticky-static"),
        pytest.param(
            [volume("fixed", sticky=True, read_only=True)], MISSING, id="T27-sticky-read-only"
        ),
        pytest.param(
            [volume("data", sticky=True), volume("shard", per_alloc=True)],
            MISSING,
            id="T27-sticky-before-one-that-is-there",
        ),
        pytest.param(
            [volume("shard", per_alloc=True), volume("data", sticky=True)],
            MISSING,
            id="T27-sticky-after-one-that-is-there",
        ),
        pytest.param([volume("made")], MISSING, id="T28-an-object-that-is-gone"),
    ],
)
def test_host_volumes(volumes, expected):
    group = make_task_group(volumes={str(n): ask for n, ask in enumerate(volumes)})
    assert refusal(WITH_VOLUMES, group=group, alloc_name="web.web[2]") == expected


def test_t31_csi_volumes_are_never_there():
    volumes = {name: VolumeAsk(name=name, type="csi", source=name) for name in ("two", "one")}
    group = make_task_group(volumes=volumes)
    ask = FeasibilityAsk(
        NodeTable.build([make_node()], {}), make_job(task_groups=(group,)), group, Patterns()
    )
    verdict = judge(ask)
    assert verdict.reasons[1:] == ("missing CSI volume(s) one, two",)
    assert verdict.missing_resources == ("csi-volume:default:one", "csi-volume:default:two")
    assert verdict.group_escapes
