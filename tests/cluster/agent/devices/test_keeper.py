"""What is granted is handed over, nothing else, and nothing that is not there."""

import pytest

from cluster.agent.devices.keeper import DeviceKeeper
from cluster.agent.devices.pci import PciDevices
from cluster.agent.drivers.driver import StartError
from scheduler.structs.device import DeviceGrant
from tests.cluster.agent.devices.sysfs_tree import written
from tests.cluster.agent.devices.test_pci import RADEON


@pytest.fixture
def keeper(tmp_path):
    place, names = written(tmp_path)
    keeper = DeviceKeeper([PciDevices(place, (names,))])
    assert len(keeper.look()) == 5
    return keeper


def grant(*ids, vendor="amd", name=RADEON):
    return DeviceGrant(vendor=vendor, type="gpu", name=name, device_ids=ids)


def test_a_task_is_told_and_shown_what_it_was_granted(keeper):
    given = keeper.reservation([grant("0000:02:00.0")])
    assert given.env == {"PCI_VISIBLE_DEVICES": "0000:02:00.0"}
    assert given.files == ("/dev/dri/card1", "/dev/dri/renderD129")
    nothing = keeper.reservation([])
    assert (nothing.env, nothing.files) == ({}, ())


def test_every_device_that_cannot_be_had_is_named(keeper):
    asked = [grant("0000:09:00.0"), grant("0000:06:00.0", vendor="102b", name="102b:0522")]
    with pytest.raises(StartError) as told:
        keeper.reservation(asked)
    assert str(told.value) == (
        f'devices: device "0000:09:00.0" of amd/gpu/{RADEON}: it is not there any more; '
        'device "0000:06:00.0" of 102b/gpu/102b:0522: no driver of this machine has taken it'
    )
    assert told.value.recoverable


def test_statistics_are_of_all_or_of_what_was_granted(keeper):
    (every,) = keeper.statistics(1_700_000_000_000_000_000)
    assert (every["Vendor"], every["Type"], every["Name"]) == ("amd", "gpu", RADEON)
    assert set(every["InstanceStats"]) == {"0000:01:00.0", "0000:02:00.0"}
    (one,) = keeper.statistics(1_700_000_000_000_000_000, [grant("0000:01:00.0")])
    (card,) = one["InstanceStats"].values()
    assert card["Timestamp"] == "2023-11-14T22:13:20Z"
    assert card["Summary"]["IntNumeratorVal"] == 512
    assert keeper.statistics(0, []) == []
