"""The group's network mode and host networks (placement.md 6.6). Free ports are rank's work.

In: a FeasibilityAsk. Out: the rows without such a network.
"""

from collections.abc import Iterator

from scheduler.engine.feasibility.check import FeasibilityAsk, RefusedRows
from scheduler.engine.measure.versions import compare_versions, parse_version
from scheduler.state.node_table import Bools, Column, NodeTable
from scheduler.structs.network import Port
from scheduler.structs.node import Node
from scheduler.structs.node_target import is_literal

_SEPARATOR = "\0"
#: Clients before this version made bridges without fingerprinting them.
_FIRST_WITH_BRIDGE = parse_version("0.12")


class Networks:
    """Some network of the node must have the group's mode; its ports' host networks must exist."""

    name = "networks"

    def refusals(self, ask: FeasibilityAsk) -> Iterator[RefusedRows]:
        """The mode first, then each port, dynamic ones before static ones."""
        network = ask.group.networks[0] if ask.group.networks else None
        mode = (network.mode if network else "") or "host"
        if mode == "none":
            return
        has_mode = _naming(ask.table.derived_column("network modes", _modes), mode)
        excused = _old_clients(ask.table) & ~has_mode if mode == "bridge" else None
        yield RefusedRows(
            ~has_mode if excused is None else ~(has_mode | excused), "missing network"
        )
        ports = (*network.dynamic_ports, *network.reserved_ports) if network else ()
        for port in ports:
            if port.host_network:
                for rows, reason in _port_refusals(ask.table, port):
                    yield RefusedRows(rows if excused is None else rows & ~excused, reason)


def _port_refusals(table: NodeTable, port: Port) -> Iterator[RefusedRows]:
    wanted, label = port.host_network, port.label
    aliases = table.derived_column("network aliases", _aliases)
    if is_literal(wanted):
        lacking = ~_naming(aliases, wanted)
        yield RefusedRows(lacking, f'missing host network "{wanted}" for port "{label}"')
        return
    column = table.column(wanted)
    yield RefusedRows(
        column.codes < 0, f'invalid host network "{wanted}" template for port "{label}"'
    )
    for code, value in enumerate(column.values):
        lacking = (column.codes == code) & ~_naming(aliases, value)
        if lacking.any():
            yield RefusedRows(lacking, f'missing host network "{value}" for port "{label}"')


def _naming(column: Column, name: str) -> Bools:
    return column.where(lambda names: name in names.split(_SEPARATOR))


def _old_clients(table: NodeTable) -> Bools:
    def is_old(text: str) -> bool:
        version = parse_version(text, strict=True)
        assert _FIRST_WITH_BRIDGE is not None, "a constant that parses"
        return version is not None and compare_versions(version, _FIRST_WITH_BRIDGE) < 0

    return table.column("${attr.nomad.version}").where(is_old)


def _modes(node: Node) -> str | None:
    modes = {network.mode or "host" for network in node.node_resources.networks}
    return _SEPARATOR.join(sorted(modes)) or None


def _aliases(node: Node) -> str | None:
    names = {
        address.alias
        for network in node.node_resources.node_networks
        for address in network.addresses
    }
    return _SEPARATOR.join(sorted(names)) if names else None
