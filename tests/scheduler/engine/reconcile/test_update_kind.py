"""What of a job can change while its tasks run, and what needs a replacement."""

import msgspec
import pytest

from scheduler.engine.reconcile.update_kind import must_be_replaced, only_run_limit_differs
from scheduler.structs.constraint import Affinity, Constraint, Spread
from scheduler.structs.device import RequestedDevice
from scheduler.structs.network import CNIConfig, DNSConfig, NetworkResource, Port
from scheduler.structs.policies import (
    HOUR,
    DisconnectStrategy,
    MigrateStrategy,
    ReschedulePolicy,
    RestartPolicy,
    UpdateStrategy,
)
from scheduler.structs.resources import NUMA, TaskLifecycle
from scheduler.structs.service import Service
from scheduler.structs.task_group import (
    Artifact,
    EphemeralDisk,
    Identity,
    LogConfig,
    SecretAsk,
    Template,
    VolumeAsk,
    VolumeMount,
)
from tests.builders import make_job, make_task, make_task_group

NETWORK = NetworkResource(
    mode="bridge",
    reserved_ports=(Port(label="http", value=80),),
    dynamic_ports=(Port(label="admin"),),
)
CONNECTED = Service(name="api", port_label="http", connect={"SidecarService": {"Port": "a"}})
TASK = make_task(log_config=LogConfig())
GROUP = make_task_group(tasks=(TASK,), networks=(NETWORK,), services=(CONNECTED,), meta={"a": "1"})
JOB = make_job(task_groups=(GROUP,))


def with_group(**fields: object):
    return msgspec.structs.replace(JOB, task_groups=(msgspec.structs.replace(GROUP, **fields),))


def with_task(**fields: object):
    return with_group(tasks=(msgspec.structs.replace(TASK, **fields),))


def with_network(**fields: object):
    return with_group(networks=(msgspec.structs.replace(NETWORK, **fields),))


def with_service(**fields: object):
    return with_group(services=(msgspec.structs.replace(CONNECTED, **fields),))


def with_resources(**fields: object):
    return with_task(resources=msgspec.structs.replace(TASK.resources, **fields))


def cases(changed: dict[str, object]):
    return [pytest.param(job, id=name) for name, job in changed.items()]


@pytest.mark.parametrize(
    "new",
    cases(
        {
            "a-task-more": with_group(tasks=(TASK, make_task(name="other"))),
            "a-task-renamed": with_task(name="other"),
            "disk": with_group(ephemeral_disk=EphemeralDisk(size_mb=500)),
            "sticky-disk": with_group(ephemeral_disk=EphemeralDisk(sticky=True)),
            "migrating-disk": with_group(ephemeral_disk=EphemeralDisk(migrate=True)),
            "a-network-less": with_group(networks=()),
            "network-mode": with_network(mode="host"),
            "network-bandwidth": with_network(mbits=10),
            "network-hostname": with_network(hostname="web"),
            "network-plugin-arguments": with_network(cni=CNIConfig(args={"a": "1"})),
            "port-inside": with_network(dynamic_ports=(Port(label="admin", to=80),)),
            "port-on-another-host-network": with_network(
                dynamic_ports=(Port(label="admin", host_network="public"),)
            ),
            "task-network": with_resources(networks=(NetworkResource(mbits=10),)),
            "network-dns": with_network(dns=DNSConfig(servers=("1.1.1.1",))),
            "static-port": with_network(reserved_ports=(Port(label="http", value=81),)),
            "port-label": with_network(dynamic_ports=(Port(label="other"),)),
            "a-static-port-made-dynamic": with_network(
                reserved_ports=(), dynamic_ports=(Port(label="http"), Port(label="admin"))
            ),
            "volume": with_group(volumes={"v": VolumeAsk(name="v")}),
            "rendering-on-restart": with_group(
                restart_policy=RestartPolicy(render_templates=True)
            ),
            "a-task-rendering-on-restart": with_task(
                restart_policy=RestartPolicy(render_templates=True)
            ),
            "consul-namespace": with_group(consul={"Namespace": "x"}),
            "consul-namespace-of-a-task": with_task(consul={"Namespace": "x"}),
            "connect-newly-added": with_group(
                services=(CONNECTED, Service(name="b", connect={"Native": True}))
            ),
            "sidecar-port": with_service(connect={"SidecarService": {"Port": "b"}}),
            "sidecar-removed": with_service(connect={"SidecarTask": {"Driver": "docker"}}),
            "sidecar-task": with_service(
                connect={"SidecarService": {"Port": "a"}, "SidecarTask": {"Driver": "docker"}}
            ),
            "gateway": with_service(
                connect={"SidecarService": {"Port": "a"}, "Gateway": {"Ingress": {}}}
            ),
            "native-connect": with_service(
                connect={"SidecarService": {"Port": "a"}, "Native": True}
            ),
            "service-port": with_service(port_label="other"),
            "service-cluster": with_service(cluster="other"),
            "driver": with_task(driver="exec"),
            "user": with_task(user="root"),
            "config": with_task(config={"a": [1]}),
            "env": with_task(env={"A": "1"}),
            "artifact": with_task(artifacts=(Artifact(getter_source="x"),)),
            "vault": with_task(vault={"Role": "x"}),
            "secrets": with_task(secrets=(SecretAsk(name="s", provider="vault"),)),
            "csi-plugin": with_task(csi_plugin_config={"ID": "x"}),
            "identity": with_task(identity=Identity(env=True)),
            "identities": with_task(identities=(Identity(name="x"),)),
            "template": with_task(templates=(Template(embedded_tmpl="x"),)),
            "mount": with_task(volume_mounts=(VolumeMount(volume="v"),)),
            "task-meta": with_task(meta={"b": "2"}),
            "group-meta": with_group(meta={"a": "2"}),
            "job-meta": msgspec.structs.replace(JOB, meta={"b": "2"}),
            "logging-off": with_task(log_config=LogConfig(disabled=True)),
            "cpu": with_resources(cpu=999),
            "cores": with_resources(cores=1),
            "memory": with_resources(memory_mb=999),
            "memory-max": with_resources(memory_max_mb=999),
            "secret-memory": with_resources(secrets_mb=9),
            "numa": with_resources(numa=NUMA(affinity="require")),
            "devices": with_resources(devices=(RequestedDevice(name="gpu"),)),
            "group-gone": msgspec.structs.replace(JOB, task_groups=()),
        }
    ),
)
def test_t80_a_task_must_start_anew_for(new):
    assert must_be_replaced(JOB, new, "web")


@pytest.mark.parametrize(
    "new",
    cases(
        {
            "nothing": JOB,
            "count": with_group(count=7),
            "group-constraint": with_group(constraints=(Constraint(l_target="${attr.a}"),)),
            "affinity": with_group(affinities=(Affinity(l_target="${attr.a}"),)),
            "spread": with_group(spreads=(Spread(attribute="${attr.a}"),)),
            "update": with_group(update=UpdateStrategy(max_parallel=2)),
            "restart-policy": with_group(restart_policy=RestartPolicy(attempts=9)),
            "priority": msgspec.structs.replace(JOB, priority=90),
            "datacenters": msgspec.structs.replace(JOB, datacenters=("dc1",)),
            "dynamic-port-value": with_network(dynamic_ports=(Port(label="admin", value=2),)),
            "port-that-may-collide": with_network(
                dynamic_ports=(Port(label="admin", ignore_collision=True),)
            ),
            "network-device": with_network(device="eth1", cidr="10.0.0.0/8"),
            "sidecar-tags": with_service(connect={"SidecarService": {"Port": "a", "Tags": ["x"]}}),
            "sidecar-proxy": with_service(
                connect={"SidecarService": {"Port": "a", "Proxy": {"LocalServicePort": 1}}}
            ),
            "shutdown-delay": with_task(shutdown_delay=1),
            "lifecycle": with_task(lifecycle=TaskLifecycle(hook="prestart")),
            "disconnect": with_group(disconnect=DisconnectStrategy(lost_after=HOUR)),
            "reschedule-policy": with_group(reschedule_policy=ReschedulePolicy(attempts=1)),
            "migrate": with_group(migrate=MigrateStrategy(max_parallel=2)),
            "kill-timeout": with_task(kill_timeout=1),
            "kill-signal": with_task(kill_signal="SIGINT"),
            "leader": with_task(leader=True),
            "log-size": with_task(log_config=LogConfig(max_files=2)),
            "service-tags": with_service(tags=("x",)),
            "a-plain-service": with_group(services=(CONNECTED, Service(name="b"))),
            "meta-that-is-overridden": msgspec.structs.replace(JOB, meta={"a": "0"}),
            "run-limit": with_group(max_run_duration=HOUR),
        }
    ),
)
def test_t80_a_running_task_takes_on(new):
    assert not must_be_replaced(JOB, new, "web")


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"source": "other"}, id="source"),
        pytest.param({"type": "csi"}, id="type"),
        pytest.param({"read_only": True}, id="read-only"),
        pytest.param({"sticky": True}, id="sticky"),
        pytest.param({"access_mode": "x"}, id="access-mode"),
        pytest.param({"attachment_mode": "x"}, id="attachment-mode"),
        pytest.param({"mount_options": {"FSType": "x"}}, id="mount-options"),
        pytest.param({"per_alloc": True}, id="per-alloc"),
    ],
)
def test_t80_a_task_must_start_anew_for_another_volume(changed):
    volume = VolumeAsk(name="v", type="host", source="v")
    old = with_group(volumes={"v": volume})
    new = with_group(volumes={"v": msgspec.structs.replace(volume, **changed)})
    assert must_be_replaced(old, new, "web")


@pytest.mark.parametrize("part", ["Cluster", "Partition"])
def test_t80_consul_clusters_count_only_when_both_versions_name_one(part):
    bare, old, new = (
        {"Namespace": "x"},
        {"Namespace": "x", part: "a"},
        {"Namespace": "x", part: "b"},
    )
    assert must_be_replaced(with_group(consul=old), with_group(consul=new), "web")
    assert must_be_replaced(with_group(consul=bare), with_group(consul=new), "web")
    unnamed = {part: "b"}
    assert not must_be_replaced(with_group(consul=None), with_group(consul=unnamed), "web")


def test_t80_a_template_that_is_equal_is_no_change():
    one, other = (with_task(templates=(Template(embedded_tmpl="x"),)) for _ in range(2))
    assert not must_be_replaced(one, other, "web")


def test_only_the_run_limit_differs():
    limited = with_group(max_run_duration=HOUR).task_groups[0]
    assert only_run_limit_differs(GROUP, limited)
    assert not only_run_limit_differs(GROUP, GROUP)
    assert not only_run_limit_differs(GROUP, msgspec.structs.replace(limited, count=2))
