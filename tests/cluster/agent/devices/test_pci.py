"""Graphics cards and accelerators of a recorded tree of the kernel's; no such hardware is here."""

import pytest

from cluster.agent.devices.found import device_groups
from cluster.agent.devices.pci import PciDevices
from scheduler.structs.device import DeviceAttribute
from tests.cluster.agent.devices.sysfs_tree import written

RADEON = "Navi 31 [Radeon RX 7900 XT/7900 XTX]"


@pytest.fixture
def source(tmp_path):
    place, names = written(tmp_path)
    return PciDevices(place, (tmp_path / "none", names))


def test_cards_accelerators_and_coprocessors_are_found_and_nothing_else(source):
    found = {device.id: device.group for device in source.look()}
    assert found == {
        "0000:01:00.0": ("amd", "gpu", RADEON),
        "0000:02:00.0": ("amd", "gpu", RADEON),
        "0000:03:00.0": ("intel", "accelerator", "Meteor Lake NPU"),
        "0000:06:00.0": ("102b", "gpu", "102b:0522"),
        "0000:07:00.0": ("1d0f", "coprocessor", "1d0f:f010"),
        "0000:08:00.0": ("1234", "gpu", "1234:1111"),
    }


def test_files_are_those_that_drivers_made_for_users(source):
    files = {device.id: device.files for device in source.look()}
    assert files["0000:01:00.0"] == ("/dev/dri/card0", "/dev/dri/renderD128")
    assert files["0000:03:00.0"] == ("/dev/accel/accel0",)
    assert files["0000:07:00.0"] == ("/dev/vfio/vfio", "/dev/vfio/17")


def test_equal_ones_are_a_group_with_what_they_share(source):
    group = device_groups(source.look())[0]
    assert [each.id for each in group.instances] == ["0000:01:00.0", "0000:02:00.0"]
    assert group.instances[0].locality.pci_bus_id == "0000:01:00.0"
    assert group.attributes == {
        "vendor_id": DeviceAttribute(string="1002"),
        "device_id": DeviceAttribute(string="744c"),
        "driver": DeviceAttribute(string="amdgpu"),
        "memory": DeviceAttribute(int_=24560, unit="MiB"),
    }


def test_what_nobody_can_open_is_told_as_unhealthy(source):
    told = {each.id: each for group in device_groups(source.look()) for each in group.instances}
    assert told["0000:06:00.0"].health_description == "no driver of this machine has taken it"
    assert told["0000:08:00.0"].health_description == "its driver bochs made no file for users"
    assert {key for key, each in told.items() if not each.healthy} == {
        "0000:06:00.0",
        "0000:08:00.0",
    }


def test_memory_and_load_are_read_where_the_driver_tells_them(source):
    card, _, npu, *_ = source.look()
    told = source.measure(card)
    assert (told["Summary"]["IntNumeratorVal"], told["Summary"]["IntDenominatorVal"]) == (
        512,
        24560,
    )
    assert told["Stats"]["Attributes"]["GPU utilization"]["IntNumeratorVal"] == 37
    assert source.measure(npu) is None


def test_a_machine_without_such_a_bus_has_none(tmp_path):
    assert PciDevices(tmp_path / "none").look() == []
