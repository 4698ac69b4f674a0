"""Which nodes are alike, and which constraints see more than that."""

import msgspec
import pytest

from scheduler.structs.computed_class import computed_class, escapes_class
from scheduler.structs.device import DeviceAttribute, DeviceGroup, DeviceInstance
from scheduler.structs.node import Node
from tests.builders import make_node

PLAIN = make_node(1)


def with_device(attributes, instances=()):
    device = DeviceGroup(
        vendor="nvidia", type="gpu", name="t4", attributes=attributes, instances=instances
    )
    return changed(node_resources=msgspec.structs.replace(PLAIN.node_resources, devices=(device,)))


def changed(**fields) -> Node:
    return msgspec.structs.replace(PLAIN, **fields)


MEMORY = {"memory": DeviceAttribute(int_=11, unit="GiB")}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(PLAIN, changed(id="other", name="other"), id="T08-identity"),
        pytest.param(
            PLAIN, changed(attributes=PLAIN.attributes | {"unique.ip": "1"}), id="T08-unique-attr"
        ),
        pytest.param(PLAIN, changed(meta={"unique.x": "1"}), id="T08-unique-meta"),
        pytest.param(
            with_device(MEMORY),
            with_device(MEMORY | {"unique.bus": DeviceAttribute(string="1")}),
            id="T08-unique-device-attribute",
        ),
        pytest.param(
            with_device(MEMORY), with_device(MEMORY, (DeviceInstance(id="x"),)), id="instances"
        ),
        pytest.param(
            changed(attributes={"a": "1", "b": "2"}),
            changed(attributes={"b": "2", "a": "1"}),
            id="order-of-a-map",
        ),
        pytest.param(PLAIN, changed(node_pool=""), id="no-pool-is-the-default-pool"),
    ],
)
def test_the_class_does_not_see(one, other):
    assert computed_class(one) == computed_class(other)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(changed(datacenter="dc2"), id="T08-datacenter"),
        pytest.param(changed(attributes=PLAIN.attributes | {"a": "1"}), id="T08-attribute"),
        pytest.param(changed(meta={"a": "1"}), id="T08-meta"),
        pytest.param(changed(node_pool="gpu"), id="T08-pool"),
        pytest.param(changed(node_class="large"), id="node-class"),
        pytest.param(with_device(MEMORY), id="T08-device"),
    ],
)
def test_the_class_sees(other):
    assert computed_class(other) != computed_class(PLAIN)


def test_devices_of_other_attributes_are_other_classes():
    smaller = with_device({"memory": DeviceAttribute(int_=8, unit="GiB")})
    assert computed_class(smaller) != computed_class(with_device(MEMORY))


def test_the_class_is_a_number_with_a_version():
    version, number = computed_class(PLAIN).split(":")
    assert version == "v1"
    assert 0 <= int(number) < 2**64


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        pytest.param("${attr.unique.x}", "1", True, id="T09-attr"),
        pytest.param("${meta.unique.x}", "1", True, id="T09-meta"),
        pytest.param("${node.unique.id}", "1", True, id="T09-node"),
        pytest.param("${unique.x}", "1", True, id="T09-bare"),
        pytest.param("a", "${attr.unique.x}", True, id="T09-right"),
        pytest.param("${node.datacenter}", "dc1", False, id="T09-datacenter"),
        pytest.param("${attr.not.unique.x}", "1", False, id="inside-a-name"),
    ],
)
def test_constraints_on_unique_properties_escape(left, right, expected):
    assert escapes_class(left, right) is expected
