"""Which node a host volume is made on, and what may be asked of one (doors.md 17.1).

In: a volume as it is asked for, a reader. Out: every problem of it, or a node, or
`OperationRefused` that counts what stood in the way.
"""

import re
from collections.abc import Iterator

from cluster.jobspec.findings import Findings
from cluster.jobspec.names import name_fault
from cluster.jobspec.patterns import Re2Matcher
from cluster.jobspec.problems import error_text
from cluster.jobspec.validate_targets import check_constraints
from cluster.operations.errors import OperationRefused
from cluster.operations.namespaces import pool_is_allowed
from scheduler.engine.measure.target_rows import rows_where
from scheduler.ports import StateReader
from scheduler.state.node_table import NodeTable
from scheduler.state.nouns import NAMESPACES
from scheduler.state.volume_nouns import HOST_VOLUMES
from scheduler.structs.host_volume import AccessMode, AttachmentMode, DynamicVolume
from scheduler.structs.node import Node

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MATCHER = Re2Matcher()
#: Bytes that a column or a plugin's environment holds.
_MOST_BYTES = 2**63 - 1


def plugin_attribute(plugin_id: str) -> str:
    """The attribute by which a node says that it has a plugin."""
    return f"plugins.host_volume.{plugin_id}.version"


def check_volume(volume: DynamicVolume) -> None:
    """Refuse what no volume can be, naming every problem."""
    problems = list(_problems(volume))
    findings = Findings()
    check_constraints(volume.constraints, findings)
    problems += [problem.message for problem in findings.problems()]
    if problems:
        raise OperationRefused(f"volume validation failed: {error_text(problems)}")


def choose_node(reader: StateReader, volume: DynamicVolume) -> Node:
    """The node for a new volume: of those that fit the one with the fewest volumes so far.

    Raises OperationRefused, which tells how many nodes were left out for what.
    """
    head = f'could not place volume "{volume.name}": '
    if volume.node_id:
        node = reader.node(volume.node_id)
        if node is None:
            raise OperationRefused(
                f'validating volume "{volume.name}" against state failed: node'
                f' "{volume.node_id}" does not exist'
            )
        if not _feasible(volume, [node]) or _has_name(reader, node, volume):
            raise OperationRefused(f"{head}node {node.id} is not feasible for volume")
        return node
    nodes = [node for node in reader.nodes() if _is_in_pool(volume, node)]
    governed = [node for node in nodes if _is_governed(reader, volume, node)]
    free = [node for node in governed if not _has_name(reader, node, volume)]
    fit = _feasible(volume, free)
    if not fit:
        raise OperationRefused(
            f"{head}no node meets constraints: {len(governed) - len(free)} nodes had existing"
            f" volume, {len(nodes) - len(governed)} nodes filtered by node pool governance,"
            f" {len(free) - len(fit)} nodes were infeasible"
        )
    counts = {node.id: len(reader.list_by(HOST_VOLUMES, "node", node.id)) for node in fit}
    return min(fit, key=lambda node: (counts[node.id], node.id))


def _problems(volume: DynamicVolume) -> Iterator[str]:
    if volume.id and not UUID.fullmatch(volume.id):
        yield f'invalid ID "{volume.id[:64]}"'
    if not volume.name:
        yield "missing name"
    for path, name in (("name", volume.name), ("plugin ID", volume.plugin_id)):
        if fault := name_fault(name):
            yield f"{path} {fault}"
    if "/" in volume.plugin_id:
        yield f'invalid plugin ID "{volume.plugin_id[:64]}"'
    yield from _capacity_problems(volume)
    for capability in volume.requested_capabilities:
        if capability.attachment_mode not in set(AttachmentMode):
            yield f'invalid attachment mode: "{capability.attachment_mode[:64]}"'
        if capability.access_mode not in set(AccessMode):
            yield f'invalid access mode: "{capability.access_mode[:64]}"'


def _capacity_problems(volume: DynamicVolume) -> Iterator[str]:
    low, high = volume.requested_capacity_min_bytes, volume.requested_capacity_max_bytes
    for word, size in (("capacity_min", low), ("capacity_max", high)):
        if not 0 <= size <= _MOST_BYTES:
            yield f"{word} ({size}) must not be negative"
    if high and high < low:
        yield f"capacity_max ({high}) must be larger than capacity_min ({low})"


def _feasible(volume: DynamicVolume, nodes: list[Node]) -> list[Node]:
    """Ready nodes that have the plugin and meet every constraint."""
    plugin = plugin_attribute(volume.plugin_id)
    able = [
        node
        for node in nodes
        if node.is_ready and (not volume.plugin_id or plugin in node.attributes)
    ]
    table = NodeTable.build(able, {})
    rows = [rows_where(table, constraint, _MATCHER) for constraint in volume.constraints]
    return [node for node in able if all(each[table.row_of(node.id)] for each in rows)]


def _is_in_pool(volume: DynamicVolume, node: Node) -> bool:
    return volume.node_pool in {"", node.node_pool}


def _is_governed(reader: StateReader, volume: DynamicVolume, node: Node) -> bool:
    """Whether the volume's namespace may use the node's pool."""
    namespace = reader.get(NAMESPACES, volume.namespace)
    rules = namespace.node_pool_configuration if namespace else None
    return rules is None or pool_is_allowed(rules, node.node_pool)


def _has_name(reader: StateReader, node: Node, volume: DynamicVolume) -> bool:
    """Whether the node has another volume of that name, static or made."""
    told = node.host_volumes.get(volume.name)
    if told is not None and (not told.id or told.id != volume.id):
        return True
    return any(
        other.name == volume.name and other.id != volume.id
        for other in reader.list_by(HOST_VOLUMES, "node", node.id)
    )
