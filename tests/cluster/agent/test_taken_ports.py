"""Ports that strangers hold: found, named, and told apart from ports that are only remembered."""

import os
import socket

import pytest

from cluster.agent.taken_ports import TakenPorts, taken_ports
from scheduler.structs.allocation import ClientStatus
from scheduler.structs.network import AllocatedPort
from scheduler.structs.resources import AllocatedResources, AllocatedSharedResources
from tests.cluster.agent.real_node import Node, make_work

HERE = "127.0.0.1"


def port_of(taken, **fields):
    number = taken.getsockname()[1]
    return AllocatedPort(**{"label": "http", "value": number, "host_ip": HERE} | fields)


@pytest.fixture
def listener():
    with socket.create_server((HERE, 0)) as taken:
        yield taken


def test_a_port_that_somebody_listens_on_is_refused_with_the_name_of_who_does(listener):
    port = port_of(listener)
    (refusal,) = taken_ports([port]).refusals
    assert refusal.startswith(
        f'port {port.value} of 127.0.0.1 ("http") is taken by a program of this machine that is no'
        " task here: "
    )
    assert refusal.endswith(f"({os.getpid()})")


def test_at_every_address_when_the_port_is_mapped_at_every_one(listener):
    port = port_of(listener, host_ip="127.0.0.2")
    assert taken_ports([port]) == TakenPorts()
    assert taken_ports([port], everywhere=True).refusals


def test_one_taken_for_datagrams_alone_is_remarked_on():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind((HERE, 0))
        found = taken_ports([port_of(taken)])
    assert found.refusals == ()
    (remark,) = found.remarks
    assert "is taken for datagrams (udp) by a program of this machine" in remark


def test_free_ports_shared_ports_and_addresses_of_other_machines_are_no_finding(listener):
    port = port_of(listener)
    listener.close()
    elsewhere = AllocatedPort(label="p", value=port.value, host_ip="192.0.2.77")
    assert taken_ports([port, elsewhere]) == TakenPorts()
    with socket.create_server((HERE, 0)) as taken:
        assert taken_ports([port_of(taken, ignore_collision=True)]) == TakenPorts()


def test_a_connection_that_has_ended_keeps_nobody_from_listening(listener):
    port = port_of(listener)
    with socket.create_connection(listener.getsockname()) as caller:
        accepted, _ = listener.accept()
        # Who closes first is remembered for a while, here on the listener's side.
        accepted.close()
        assert caller.recv(1) == b""
    listener.close()
    assert taken_ports([port]) == TakenPorts()


@pytest.fixture
async def node(tmp_path):
    node = Node(tmp_path)
    await node.start()
    yield node
    await node.end()


def granted(work, port):
    alloc, job = work
    shared = AllocatedSharedResources(ports=(port,))
    return alloc.changed(allocated_resources=AllocatedResources(shared=shared)), job


async def test_an_allocation_whose_port_a_stranger_has_fails_before_its_tasks_and_says_who(
    node, listener
):
    port = port_of(listener)
    alloc, job = granted(make_work(), port)
    node.host.add(alloc, job)
    await node.reach(alloc, ClientStatus.FAILED)
    (state,) = node.host.entries[alloc.id].runner.states.values()
    failure = state.events[-1]
    assert failure.type == "Setup Failure"
    assert failure.display_message.startswith(
        f'failed to setup alloc: pre-run hook "network" failed: port {port.value} of 127.0.0.1'
    )


async def test_an_allocation_waits_for_another_that_has_its_port_and_is_to_end(node, listener):
    port = port_of(listener)
    listener.close()
    first, job = granted(make_work(), port)
    second, other = granted(make_work(), port)
    node.host.add(first, job)
    await node.reach(first, ClientStatus.RUNNING)
    node.host.add(second, other)
    assert node.host.entries[second.id].waits_for == {first.id}
    assert node.status(second) is ClientStatus.PENDING
    node.host.update(first.changed(desired_status="stop"), job)
    await node.reach(second, ClientStatus.RUNNING)
