"""NVIDIA's cards by a stand-in for their driver's library; no such card is here."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cluster.agent.devices.nvidia import NvidiaDevices
from tests.cluster.agent.devices.nvml_library import built

#: In a process of its own: the library is looked for where processes start.
LOOK = """
import json, msgspec
from cluster.agent.devices.keeper import DeviceKeeper
from cluster.agent.devices.nvidia import NvidiaDevices
from scheduler.structs.device import DeviceGrant
keeper = DeviceKeeper([NvidiaDevices(exists=lambda file: True)])
groups = keeper.look()
grants = [
    DeviceGrant(vendor=g.vendor, type=g.type, name=g.name, device_ids=(g.instances[1].id,))
    for g in groups
]
given = keeper.reservation(grants)
print(json.dumps({
    "groups": msgspec.to_builtins(groups),
    "env": given.env, "files": given.files,
    "stats": keeper.statistics(0, grants),
}))
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The folder that holds the stand-in."""
    return built(tmp_path_factory.mktemp("nvml"))


def look(library, **environment):
    done = subprocess.run(
        [sys.executable, "-c", LOOK],
        env={**os.environ, "LD_LIBRARY_PATH": str(library), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout), done.stderr


def test_cards_are_told_by_their_uuids_with_what_the_reference_says_of_them(library):
    told, _ = look(library)
    (group,) = told["groups"]
    assert (group["Vendor"], group["Type"], group["Name"]) == (
        "nvidia",
        "gpu",
        "NVIDIA A100-SXM4-40GB",
    )
    assert [each["ID"][-1] for each in group["Instances"]] == ["0", "1"]
    assert group["Instances"][1]["Locality"] == {"PciBusID": "00000000:0B:00.0"}
    values = {
        name: (each.get("Int") or each.get("String"), each.get("Unit") or "")
        for name, each in group["Attributes"].items()
    }
    assert values == {
        "memory": (40960, "MiB"),
        "bar1": (65536, "MiB"),
        "power": (400, "W"),
        "cores_clock": (1410, "MHz"),
        "memory_clock": (1215, "MHz"),
        "pci_bandwidth": (31504, "MB/s"),
        "driver_version": ("535.104.05", ""),
        "display_state": ("Disabled", ""),
        "persistence_mode": ("Enabled", ""),
    }
    assert told["env"] == {"NVIDIA_VISIBLE_DEVICES": group["Instances"][1]["ID"]}
    assert told["files"][:3] == ["/dev/nvidia1", "/dev/nvidiactl", "/dev/nvidia-uvm"]


def test_what_a_card_does_is_measured_as_far_as_it_tells(library):
    (told,) = look(library)[0]["stats"]
    (card,) = told["InstanceStats"].values()
    assert card["Summary"]["IntNumeratorVal"] == 2048
    assert card["Summary"]["IntDenominatorVal"] == 40960
    assert {key: each["IntNumeratorVal"] for key, each in card["Stats"]["Attributes"].items()} == {
        "Memory state": 2048,
        "GPU utilization": 87,
        "Memory utilization": 12,
        "Temperature": 61,
    }


def test_a_driver_that_lost_its_cards_leaves_none_and_says_so(library):
    told, said = look(library, SHIM_LOST="1")
    assert told["groups"] == []
    assert "NVML" in said


def test_without_a_driver_there_are_none():
    if any(Path("/dev").glob("nvidia[0-9]")):
        pytest.skip("this machine has such a card")
    assert NvidiaDevices().look() == []
