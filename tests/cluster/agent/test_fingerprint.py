"""What a node says of its processors and its disk, by files as the kernel writes them."""

from pathlib import Path

import psutil

from cluster.agent.drivers.kept_process import signal_number
from cluster.agent.fingerprint import attributes_of_machine, volume_of
from cluster.agent.processor_layout import processor_layout
from cluster.fleet.blueprint import FleetOptions, members_of

MOUNTS = """\
overlay / overlay rw 0 0
/dev/sdb1 /srv ext4 rw 0 0
/dev/sdc1 /srv ext4 rw 0 0
/dev/sdd1 /srv/with\\040space ext4 rw 0 0
/dev/sde1 /srvother ext4 rw 0 0
"""


def written(root, **files):
    for name, text in files.items():
        place = root / name.replace("__", "/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)


def test_cores_are_told_by_numa_node(tmp_path):
    written(
        tmp_path,
        system__node__node0__cpulist="0-3,8-11\n",
        system__node__node10__cpulist="4-7\n",
        system__node__possible="0-10\n",
    )
    assert processor_layout(tmp_path) == {
        "numa.node.count": "2",
        "numa.node0.cores": "0-3,8-11",
        "numa.node10.cores": "4-7",
    }


def test_both_kinds_of_cores_of_a_hybrid_processor_are_told(tmp_path):
    written(tmp_path, cpu_core__cpus="0-3\n")
    assert processor_layout(tmp_path) == {}, "all are alike"
    written(
        tmp_path,
        cpu_atom__cpus="4-11\n",
        system__cpu__cpu0__cpufreq__base_frequency="3000000\n",
        system__cpu__cpu4__cpufreq__base_frequency="2100000\n",
    )
    assert processor_layout(tmp_path) == {
        "cpu.numcores.performance": "4",
        "cpu.numcores.efficiency": "8",
        "cpu.frequency.performance": "3000",
        "cpu.frequency.efficiency": "2100",
    }


def test_a_node_tells_signals_by_every_name(tmp_path):
    told = attributes_of_machine(tmp_path)["os.signals"].split(",")
    # Those that jobs name to end a web server, and another name of one.
    assert {"SIGIOT", "SIGABRT", "SIGQUIT", "SIGWINCH", "SIGUSR2"} <= set(told)
    assert all(signal_number(name) for name in told)
    assert (
        members_of(FleetOptions(nodes=1), "key")[0].node.attributes["os.signals"].split(",")
        == told
    )


def test_the_volume_is_the_device_that_holds_the_directory(tmp_path):
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS)
    for place, device in {
        "/home/x": "overlay",
        "/srv/bivouac": "/dev/sdc1",
        "/srv/with space/a": "/dev/sdd1",
        "/srvother": "/dev/sde1",
    }.items():
        assert volume_of(Path(place), mounts) == device
    assert volume_of(Path("/srv"), tmp_path / "none") == "/srv"


def test_this_machine_tells_of_itself(tmp_path):
    told = attributes_of_machine(tmp_path)
    devices = {each.device for each in psutil.disk_partitions(all=True)}
    assert told["unique.storage.volume"] in devices
    cores = sum(1 for key in told if key.startswith("numa.node") and key.endswith(".cores"))
    assert told.get("numa.node.count", "0") == str(cores)
