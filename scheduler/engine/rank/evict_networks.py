"""Evict for static ports and bandwidth (placement.md 10.3).

In: a network ask, the bandwidth of each device, who is on the node. Out: the victims, or None.
Dynamic ports are never a reason to evict.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from scheduler.engine.rank.victim import Candidate, by_priority
from scheduler.structs.network import NetworkResource


class Bandwidth(NamedTuple):
    """MBits of one device: in all, and not yet taken."""

    total: int
    free: int


class _Holder(NamedTuple):
    """A candidate and what it holds of its first device."""

    candidate: Candidate
    network: NetworkResource


def evict_for_network(
    ask: NetworkResource, bandwidths: Mapping[str, Bandwidth], candidates: Sequence[Candidate]
) -> list[Candidate] | None:
    """The victims on the first device where evicting helps."""
    on_device: dict[str, list[_Holder]] = {}
    blocked: dict[str, set[int]] = {}
    for candidate in candidates:
        network = _first_network(candidate)
        if network is None:
            continue
        if candidate.is_evictable:
            on_device.setdefault(network.device, []).append(_Holder(candidate, network))
        else:
            ports = blocked.setdefault(network.device, set())
            ports.update(port.value for port in network.reserved_ports)
    for device in sorted(on_device):
        bandwidth = bandwidths.get(device, Bandwidth(0, 0))
        if bandwidth.total < ask.mbits:
            continue
        holders = on_device[device]
        victims = _evict_on_device(ask, bandwidth.free, holders, blocked.get(device, set()))
        if victims:
            return [victim.candidate for victim in _needed(ask, bandwidth.free, victims)]
    return None


def networks_of(candidate: Candidate) -> Iterator[NetworkResource]:
    """Its networks, those of tasks before those of the group."""
    resources = candidate.alloc.allocated_resources
    for task in resources.tasks.values():
        yield from task.networks
    yield from resources.shared.networks


def _first_network(candidate: Candidate) -> NetworkResource | None:
    """Everything it holds on the device of its first network, summed."""
    networks = list(networks_of(candidate))
    if not networks:
        return None
    same = [network for network in networks if network.device == networks[0].device]
    return NetworkResource(
        device=networks[0].device,
        mbits=sum(network.mbits for network in same),
        reserved_ports=tuple(port for network in same for port in network.reserved_ports),
    )


def _evict_on_device(
    ask: NetworkResource, free_mbits: int, holders: list[_Holder], blocked: set[int]
) -> list[_Holder] | None:
    holder_of = {
        port.value: holder for holder in holders for port in holder.network.reserved_ports
    }
    victims: list[_Holder] = []
    for port in ask.reserved_ports:
        holder = holder_of.get(port.value)
        if holder is None and port.value in blocked:
            return None
        if holder is not None and holder not in victims:
            victims.append(holder)
    freed = sum(victim.network.mbits for victim in victims)
    if free_mbits + freed >= ask.mbits:
        return victims
    others = [holder for holder in holders if holder not in victims]
    for holder in _by_cost(ask, others):
        victims.append(holder)
        freed += holder.network.mbits
        if free_mbits + freed >= ask.mbits:
            return victims
    return None


def _by_cost(ask: NetworkResource, holders: list[_Holder]) -> Iterator[_Holder]:
    holder_of = {holder.candidate.alloc.id: holder for holder in holders}
    for group in by_priority(holder.candidate for holder in holders):
        same = [holder_of[candidate.alloc.id] for candidate in group]
        yield from sorted(
            same, key=lambda holder: bandwidth_cost(ask, holder.network, holder.candidate)
        )


def bandwidth_cost(ask: NetworkResource, held: NetworkResource, candidate: Candidate) -> float:
    """What it costs to evict a candidate for the bandwidth it holds; the least goes first."""
    return _distance(ask, held) + candidate.penalty


def _needed(ask: NetworkResource, free_mbits: int, victims: list[_Holder]) -> list[_Holder]:
    """Those furthest from the ask first, cut once the bandwidth suffices."""
    ordered = sorted(victims, key=lambda holder: _distance(ask, holder.network), reverse=True)
    available = free_mbits
    for position, victim in enumerate(ordered, start=1):
        available += victim.network.mbits
        if ask.mbits and available and available >= ask.mbits:
            return ordered[:position]
    return ordered


def _distance(ask: NetworkResource, held: NetworkResource) -> float:
    return abs(ask.mbits - held.mbits) / ask.mbits if ask.mbits else 0.0
