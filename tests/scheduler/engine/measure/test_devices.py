"""Typed values of devices, matching, and granting instances."""

import msgspec
import pytest

from scheduler.engine.measure.device_match import group_matches, name_matches
from scheduler.engine.measure.device_values import compare_values, parse_value
from scheduler.engine.measure.devices_in_use import DevicesInUse
from scheduler.state.node_use import DeviceUse
from scheduler.structs.constraint import Affinity, Constraint
from scheduler.structs.device import (
    DeviceAttribute,
    DeviceGroup,
    DeviceInstance,
    RequestedDevice,
)
from scheduler.structs.node import Node, NodeResources
from tests.scheduler.engine.patterns import Patterns


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", DeviceAttribute(string="")),
        ("12", DeviceAttribute(int_=12)),
        ("12 GiB", DeviceAttribute(int_=12, unit="GiB")),
        (".98 GiB/s", DeviceAttribute(float_=0.98, unit="GiB/s")),
        ("800MHz", DeviceAttribute(int_=800, unit="MHz")),
        ("true", DeviceAttribute(bool_=True)),
        ("F", DeviceAttribute(bool_=False)),
        ("12 apples", DeviceAttribute(string="12 apples")),
        ("large", DeviceAttribute(string="large")),
    ],
)
def test_literals_have_types(text, expected):
    assert parse_value(text) == expected


@pytest.mark.parametrize(
    ("operand", "left", "right", "expected"),
    [
        pytest.param(">", "1400 MB", "1320.5 MB", True, id="T25-memory"),
        pytest.param("<=", "0.98 GiB/s", ".98 GiB/s", True, id="T25-bandwidth"),
        pytest.param("=", "800 MHz", "800MHz", True, id="T25-clock"),
        pytest.param("=", "0.5 GHz", "500MHz", True, id="clock-in-other-units"),
        pytest.param("=", "0.8 GHz", "800MHz", False, id="a-float-is-what-it-is-in-binary"),
        pytest.param("=", "1 KiB", "1024", False, id="unit-against-none"),
        pytest.param("=", "1 W", "1 MHz", False, id="other-base"),
        pytest.param("!=", "1 W", "1 MHz", False, id="not-comparable-is-not-different"),
        pytest.param(">", "1500 mW", "1 W", True, id="milliwatts-are-exact"),
        pytest.param("=", "9007199254740993", "9007199254740993.0", False, id="exact-reals"),
        pytest.param("=", "true", "T", True, id="booleans"),
        pytest.param("<", "false", "true", False, id="booleans-have-no-order"),
        pytest.param("<", "abc", "abd", True, id="texts"),
        pytest.param("version", "1.2.3", ">= 1.0, < 2", True, id="version"),
        pytest.param("version", "7", ">= 6", True, id="version-of-an-integer"),
        pytest.param("regexp", "7", "7", False, id="patterns-need-texts"),
        pytest.param("set_contains", "a,b", "b,a", True, id="T25-sets"),
    ],
)
def test_values_compare(operand, left, right, expected):
    assert compare_values(operand, parse_value(left), parse_value(right), Patterns()) is expected


@pytest.mark.parametrize(
    ("operand", "left", "right", "expected"),
    [
        ("=", None, "1", False),
        ("!=", None, None, False),
        ("!=", None, "1", True),
        ("!=", "1", None, True),
        ("is_set", "1", None, True),
        ("is_set", None, None, False),
        ("is_not_set", None, None, True),
    ],
)
def test_missing_values_compare(operand, left, right, expected):
    values = [None if text is None else parse_value(text) for text in (left, right)]
    assert compare_values(operand, *values, Patterns()) is expected


def group(name="t4", count=2, healthy=True, vendor="nvidia", **attributes):
    return DeviceGroup(
        vendor=vendor,
        type="gpu",
        name=name,
        instances=tuple(DeviceInstance(id=f"{name}-{n}", healthy=healthy) for n in range(count)),
        attributes={key: parse_value(value) for key, value in attributes.items()},
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gpu", True),
        ("nvidia/gpu", True),
        ("nvidia/gpu/t4", True),
        ("amd/gpu", False),
        ("nvidia/gpu/p4", False),
        ("fpga", False),
        ("nvidia/fpga", False),
    ],
)
def test_t24_names_match(name, expected):
    assert name_matches(group(), name) is expected


@pytest.mark.parametrize(
    ("l_target", "operand", "r_target", "expected"),
    [
        pytest.param("${device.attr.memory}", ">", "1320.5 MB", True, id="T25-attribute"),
        pytest.param("${device.attr.cores}", "is_set", "", False, id="missing"),
        pytest.param("${device.ids}", "set_contains", "t4-0,t4-1", True, id="T25-ids"),
        pytest.param("${device.ids}", "set_contains", "t4-9", False, id="T25-other-id"),
        pytest.param("${device.model}", "=", "t4", True, id="model"),
        pytest.param("${device.vendor}", "=", "nvidia", True, id="vendor"),
        pytest.param("${device.type}", "=", "gpu", True, id="type"),
        pytest.param("${device.color}", "=", "green", False, id="no-such-target"),
    ],
)
def test_constraints_on_groups(l_target, operand, r_target, expected):
    constraint = Constraint(l_target=l_target, operand=operand, r_target=r_target)
    request = RequestedDevice(name="gpu", constraints=(constraint,))
    assert group_matches(group(memory="4 GB"), request, Patterns()) is expected


def in_use(*groups, held=()):
    node = Node(id="n", node_resources=NodeResources(devices=groups))
    uses = [
        DeviceUse(vendor="nvidia", type="gpu", name=name.split("-")[0], instance_id=name)
        for name in held
    ]
    return DevicesInUse(node, uses)


FAST = Affinity(l_target="${device.attr.speed}", operand=">", r_target="5", weight=60)
SLOW = msgspec.structs.replace(FAST, operand="<", weight=40)


@pytest.mark.parametrize(
    ("request_", "groups", "held", "expected"),
    [
        pytest.param(RequestedDevice(name="gpu", count=1), [group()], [], ["t4-0"], id="T58-one"),
        pytest.param(
            RequestedDevice(name="gpu", count=1), [group()], ["t4-0"], ["t4-1"], id="T58-held"
        ),
        pytest.param(
            RequestedDevice(name="gpu", count=3),
            [group()],
            [],
            "no devices match request",
            id="T58-too-many",
        ),
        pytest.param(
            RequestedDevice(name="fpga"), [group()], [], "no devices match request", id="T58-type"
        ),
        pytest.param(RequestedDevice(name="gpu"), [], [], "no devices available", id="no-groups"),
        pytest.param(
            RequestedDevice(name="gpu", count=0),
            [group()],
            [],
            "invalid request of zero devices",
            id="zero",
        ),
        pytest.param(
            RequestedDevice(name="gpu", count=3),
            [group("a"), group("b")],
            [],
            "no devices match request",
            id="T59-all-from-one-group",
        ),
        pytest.param(
            RequestedDevice(name="gpu", affinities=(FAST,)),
            [group("slow", speed="1"), group("fast", speed="9")],
            [],
            ["fast-0"],
            id="T59-better-group",
        ),
        pytest.param(
            RequestedDevice(name="gpu", affinities=(msgspec.structs.replace(FAST, weight=-60),)),
            [group("fast", speed="9"), group("slow", speed="1")],
            [],
            ["slow-0"],
            id="T59-aversion",
        ),
        pytest.param(
            RequestedDevice(name="gpu"),
            [group(healthy=False)],
            [],
            "no devices match request",
            id="ill",
        ),
        pytest.param(
            RequestedDevice(
                name="gpu",
                constraints=(
                    Constraint(
                        l_target="${device.ids}", operand="set_contains_any", r_target="t4-1"
                    ),
                ),
            ),
            [group()],
            [],
            ["t4-1"],
            id="instance-named-by-id",
        ),
    ],
)
def test_instances_are_granted(request_, groups, held, expected):
    offer = in_use(*groups, held=held).grant(request_, Patterns())
    assert (offer if isinstance(offer, str) else list(offer.grant.device_ids)) == expected


def test_t59_an_aversion_that_was_avoided_scores_nothing():
    averse = msgspec.structs.replace(FAST, weight=-60)
    groups = (group("fast", speed="9"), group("slow", speed="1"))
    offer = in_use(*groups).grant(RequestedDevice(name="gpu", affinities=(averse,)), Patterns())
    assert (offer.grant.name, offer.affinity.score) == ("slow", 0.0)


def test_affinities_add_up_by_weight():
    offer = in_use(group(speed="9")).grant(
        RequestedDevice(name="gpu", affinities=(FAST, SLOW)), Patterns()
    )
    assert (offer.affinity.matched, offer.affinity.total, offer.affinity.score) == (60, 100, 0.6)


def test_granted_instances_are_not_free_any_more():
    devices = in_use(group())
    first = devices.grant(RequestedDevice(name="gpu"), Patterns())
    second = devices.grant(RequestedDevice(name="gpu"), Patterns())
    assert first.grant.device_ids + second.grant.device_ids == ("t4-0", "t4-1")
