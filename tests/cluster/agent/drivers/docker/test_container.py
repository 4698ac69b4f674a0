"""What the engine is asked to create, and what is refused before it is asked."""

from pathlib import Path

import pytest

from cluster.agent.drivers.docker.container import MEGABYTE, container_body
from cluster.agent.drivers.docker.image_fetch import image_reference
from cluster.agent.drivers.docker.options import read_options
from cluster.agent.drivers.docker.settings import DockerSettings
from cluster.agent.drivers.driver import (
    Launch,
    Mount,
    StartError,
    TaskDirectories,
    TaskLimits,
    TaskNetwork,
)
from scheduler.structs.network import AllocatedPort, DNSConfig

NVIDIA = {"NVIDIA_VISIBLE_DEVICES": "GPU-0"}
CLOSED = DockerSettings()
OPEN = DockerSettings(volumes=True, privileged=True, pids_limit=100)


def body(
    granted=(),
    *,
    settings=CLOSED,
    limits=None,
    mounts=(),
    dns=None,
    namespace="",
    given=(),
    **config,
):
    directories = TaskDirectories(root=Path("/a/alloc-1/web"), shared=Path("/a/alloc-1/alloc"))
    launch = Launch(
        task_id="alloc-1/web/1",
        task_name="web",
        config=config,
        env={"A": "1"},
        image_user="app",
        directories=directories,
        limits=limits,
        mounts=mounts,
        ports=granted,
        devices=tuple(given),
        device_env=NVIDIA if "/dev/nvidia0" in given else {},
        network=TaskNetwork(namespace=namespace, dns=dns),
    )
    options = read_options({"image": "app:1", **config})
    return container_body(options, launch, settings, "sha256:0", "node-1", "container:p")


def test_granted_devices_are_handed_over_and_cards_of_nvidia_by_their_runtime():
    card = {"PathOnHost": "/dev/dri/card0", "PathInContainer": "/dev/dri/card0"}
    told = host(given=["/dev/dri/card0"])
    assert told["Devices"] == [{**card, "CgroupPermissions": "rwm"}]
    assert "Runtime" not in told
    told = host(given=["/dev/nvidia0", "/dev/nvidiactl"])
    assert (told["Devices"], told["Runtime"]) == ([], "nvidia")


def host(**fields):
    return body(**fields)["HostConfig"]


def refused(**fields):
    with pytest.raises(StartError) as told:
        body(**fields)
    return str(told.value)


def test_command_arguments_and_entrypoint_are_what_the_engine_calls_them():
    assert body(command="run", args=["a", "b"])["Cmd"] == ["run", "a", "b"]
    assert body(args=["a"])["Cmd"] == ["a"]
    assert "Cmd" not in body()
    assert body(entrypoint="/e")["Entrypoint"] == ["/e"]
    assert (body()["User"], body()["Env"]) == ("app", ["A=1"])


def test_the_directories_of_the_task_are_there_and_logs_cannot_be_written():
    assert host()["Binds"] == [
        "/a/alloc-1/alloc:/alloc",
        "/a/alloc-1/web/local:/local",
        "/a/alloc-1/web/secrets:/secrets",
        "/a/alloc-1/alloc/logs:/alloc/logs:ro",
    ]


@pytest.mark.parametrize(
    ("limits", "config", "expected"),
    [
        ({"memory_mb": 64}, {}, (64, None)),
        ({"memory_mb": 64, "memory_max_mb": 128}, {}, (128, 64)),
        ({"memory_mb": 64}, {"memory_hard_limit": 256}, (256, 64)),
        ({"memory_mb": 64, "memory_max_mb": -1}, {}, (None, 64)),
    ],
)
def test_memory_is_bounded_without_swap(limits, config, expected):
    found = host(limits=TaskLimits(**limits), **config)
    hard, reserved = (found.get(name) for name in ("Memory", "MemoryReservation"))
    assert (hard and hard // MEGABYTE, reserved and reserved // MEGABYTE) == expected
    assert found.get("MemorySwap") == hard


def test_the_processor_is_shared_and_held_to_its_part_where_that_is_asked_for():
    limits = TaskLimits(cpu_mhz=500, cores=(1, 3), core_mhz=2000)
    assert host(limits=limits)["CpuShares"] == 500
    assert host(limits=limits)["CpusetCpus"] == "1,3"
    assert "CpuQuota" not in host(limits=limits)
    held = host(limits=limits, cpu_hard_limit=True)
    assert (held["CpuPeriod"], held["CpuQuota"]) == (100_000, 25_000)


def test_ports_are_published_to_where_the_group_was_granted_them():
    granted = (
        AllocatedPort(label="http", value=20000, to=80, host_ip="10.0.0.1"),
        AllocatedPort(label="admin", value=20001, host_ip="10.0.0.1"),
    )
    asked = body(granted, ports=["http", "admin"])
    place = {"HostIp": "10.0.0.1", "HostPort": "20000"}
    assert asked["HostConfig"]["PortBindings"]["80/tcp"] == [place]
    assert asked["HostConfig"]["PortBindings"]["80/udp"] == [place]
    assert set(asked["ExposedPorts"]) == {"80/tcp", "80/udp", "20001/tcp", "20001/udp"}
    assert body(granted)["ExposedPorts"] == {}
    shared = body(granted, ports=["http"], network_mode="container:other")
    assert shared["ExposedPorts"] == {}
    assert refused(ports=["none"]) == 'Port "none" not found, check network block'


def test_nothing_is_left_out_silently():
    assert refused(nosuch=1) == "nosuch: docker has no such option"
    assert "tty: nobody types into a task" in refused(tty=True)
    assert refused(image="") == "image name required for docker driver"
    assert refused(command=" x") == 'command contains extra white space: " x"'
    assert "cpu_cfs_period" in refused(cpu_cfs_period=2_000_000)
    assert "image_pull_timeout" in refused(image_pull_timeout="soon")
    assert "host path must be set" in refused(devices=[{"container_path": "/dev/x"}])
    assert 'Malformed ulimit specification nofile: "many"' in refused(ulimit={"nofile": "many"})
    assert "not <src>:<destination> format" in refused(volumes=["/x"])
    assert "unknown field" in refused(mount=[{"type": "bind", "tarjet": "/x"}])
    several = refused(command=" x", cpu_cfs_period=-1)
    assert "white space" in several
    assert "cpu_cfs_period" in several


def test_what_the_owner_does_not_allow_is_refused_by_name():
    assert refused(privileged=True) == "Docker privileged mode is disabled on this node"
    assert 'cannot apply "pid_mode"' in refused(pid_mode="host")
    assert refused(cap_add=["SYS_ADMIN", "kill"]).endswith("capabilities: sys_admin")
    assert refused(settings=OPEN, pids_limit=101).endswith("pids_limit: 100")
    assert 'cannot mount host path: "/etc"' in refused(volumes=["/etc:/x"])
    assert 'cannot mount host path: "../../../etc"' in refused(volumes=["../../../etc:/x"])
    assert 'cannot mount host path: "private/x"' in refused(volumes=["private/x:/x"])
    assert 'cannot mount volume: "data"' in refused(volumes=["data:/x"])
    mount = {"type": "volume", "source": "data", "target": "/x"}
    assert 'cannot mount volume: "data"' in refused(mount=[mount])
    assert "cannot hand over devices" in refused(devices=[{"host_path": "/dev/kvm"}])


def test_what_the_owner_allows_reaches_the_engine():
    found = host(
        settings=OPEN,
        privileged=True,
        volumes=["/etc:/x:ro", "data:/y", "local/z:/z"],
        devices=[{"host_path": "/dev/kvm"}],
    )
    assert found["Privileged"] is True
    assert found["Binds"][4:] == ["/etc:/x:ro", "data:/y", "/a/alloc-1/web/local/z:/z"]
    assert found["Devices"][0]["PathInContainer"] == "/dev/kvm"
    assert found["PidsLimit"] == 100


def test_mounts_of_every_kind():
    tmpfs = {"type": "tmpfs", "target": "/t", "tmpfs_options": [{"size": 10, "mode": 0o700}]}
    bind = {"type": "bind", "target": "/b", "source": "/alloc/data", "readonly": True}
    found = host(mount=[tmpfs, bind])["Mounts"]
    assert found[0]["TmpfsOptions"] == {"SizeBytes": 10, "Mode": 0o700}
    assert (found[1]["Source"], found[1]["ReadOnly"]) == ("/a/alloc-1/alloc/data", True)
    assert refused(mount=[{**tmpfs, "source": "x"}]) == 'invalid source, must be "" for tmpfs'
    assert "none of bind, tmpfs, volume" in refused(mount=[{"type": "odd", "target": "/x"}])
    assert "is not an absolute path" in refused(mount=[{"type": "bind", "target": "x"}])


def test_volumes_of_the_node_are_shown_where_the_job_says():
    mount = Mount("data", Path("/srv/data"), "/data", read_only=True, propagation="host-to-task")
    (found,) = host(mounts=(mount,))["Mounts"]
    assert found == {
        "Type": "bind",
        "Source": "/srv/data",
        "Target": "/data",
        "ReadOnly": True,
        "BindOptions": {"Propagation": "rslave"},
    }


def test_an_engine_is_told_how_to_label_the_files_of_a_volume():
    mount = Mount("data", Path("/srv/data"), "data", read_only=False, selinux_label="Z")
    found = host(mounts=(mount,))
    assert found["Mounts"] == []
    assert found["Binds"][-1] == "/srv/data:/data:rw,rprivate,Z"


@pytest.mark.parametrize(
    ("image", "reference"),
    [
        ("app", "app:latest"),
        ("app:1", "app:1"),
        ("https://registry.test:5000/app", "registry.test:5000/app:latest"),
        ("app@sha256:0", "app@sha256:0"),
    ],
)
def test_an_image_without_a_tag_is_the_latest(image, reference):
    assert image_reference(image) == reference


def test_what_the_group_says_of_names_counts_before_what_the_task_says():
    of_group = DNSConfig(servers=("192.0.2.53",), searches=("inside",), options=("ndots:2",))
    own = host(dns_servers=["192.0.2.1"], dns_search_domains=["mine"])
    assert (own["Dns"], own["DnsSearch"], own["DnsOptions"]) == (["192.0.2.1"], ["mine"], [])
    told = host(dns=of_group, dns_servers=["192.0.2.1"], dns_search_domains=["mine"])
    assert (told["Dns"], told["DnsSearch"]) == (["192.0.2.53"], ["inside"])
    assert told["DnsOptions"] == ["ndots:2"]


def test_in_the_network_of_its_group_it_has_none_of_its_own():
    granted = (AllocatedPort(label="http", value=20000, to=80, host_ip="10.0.0.1"),)
    asked = body(granted, namespace="/run/netns/a", ports=["http"], dns_servers=["192.0.2.1"])
    told = asked["HostConfig"]
    assert told["NetworkMode"] == "container:p"
    # What the engine refuses beside such a network.
    assert not {"Dns", "DnsSearch", "DnsOptions", "ExtraHosts"} & told.keys()
    assert (asked["ExposedPorts"], told["PortBindings"]) == ({}, {})
    assert told["Binds"][-2:] == [
        "/a/alloc-1/web/private/web.hosts:/etc/hosts:ro",
        "/a/alloc-1/web/private/web.resolv:/etc/resolv.conf:ro",
    ]
    declined = body(granted, namespace="/run/netns/a", ports=["http"], network_mode="bridge")
    assert declined["HostConfig"]["NetworkMode"] == "bridge"
    assert "80/tcp" in declined["ExposedPorts"]


@pytest.mark.parametrize(
    "config",
    [
        {"hostname": "box"},
        {"mac_address": "02:42:ac:11:65:43"},
        {"network_aliases": ["db"]},
        {"extra_hosts": ["up:host-gateway"]},
    ],
)
def test_what_tasks_of_one_network_cannot_have_apiece_is_refused_by_name(config):
    assert next(iter(config)) in refused(namespace="/run/netns/a", **config)


def test_further_options_are_handed_on_as_the_engine_calls_them():
    found = body(
        settings=OPEN,
        cgroupns="host",
        cpuset_cpus="0-1",
        runtime="runc",
        storage_opt=[{"size": "1G"}],
        volume_driver="local",
        mac_address="02:42:ac:11:65:43",
        network_mode="backend",
        network_aliases=["db"],
        ipv4_address="10.9.0.7",
        ipv6_address="fd00::7",
    )
    of_host = {
        "CgroupnsMode": "host",
        "CpusetCpus": "0-1",
        "Runtime": "runc",
        "StorageOpt": {"size": "1G"},
        "VolumeDriver": "local",
    }
    assert {name: found["HostConfig"][name] for name in of_host} == of_host
    assert found["MacAddress"] == "02:42:ac:11:65:43"
    addresses = {"IPv4Address": "10.9.0.7", "IPv6Address": "fd00::7"}
    endpoint = {"Aliases": ["db"], "IPAMConfig": addresses}
    assert found["NetworkingConfig"] == {"EndpointsConfig": {"backend": endpoint}}
    unsaid = host()
    assert not {"CgroupnsMode", "Runtime", "StorageOpt", "VolumeDriver"} & unsaid.keys()
    granted = host(limits=TaskLimits(cores=(2, 3)), cpuset_cpus="0-1")
    assert granted["CpusetCpus"] == "2,3"


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({"cgroupns": "mine"}, 'cgroupns must be "private" or "host", got "mine"'),
        ({"cgroupns": "host"}, 'cannot apply "cgroupns" configuration'),
        ({"runtime": "kata"}, 'requested runtime "kata" is not allowed'),
        ({"volume_driver": "nfs"}, 'cannot use volume driver "nfs"'),
        ({"network_mode": "n", "ipv4_address": "x"}, 'ipv4_address: "x" is no such address'),
        ({"ipv6_address": "fd00::7"}, "needs network_mode"),
    ],
)
def test_further_options_that_are_refused(config, text):
    assert text in refused(**config)
