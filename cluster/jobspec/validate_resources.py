"""Rules for what a task asks of a node.

In: a task's resources. Out: what is wrong with them.
"""

from cluster.jobspec.findings import Findings
from cluster.jobspec.quoting import quoted
from cluster.jobspec.validate_targets import check_affinities, check_constraint
from scheduler.structs.constraint import Operand
from scheduler.structs.device import RequestedDevice
from scheduler.structs.resources import Resources

_MIN_CPU = 1
_MIN_MEMORY_MB = 10
_WITHOUT_LIMIT = -1
_DISTINCT = (Operand.DISTINCT_HOSTS, Operand.DISTINCT_PROPERTY)


def check_resources(resources: Resources, findings: Findings) -> None:
    """Add the faults of a task's resources."""
    if resources.cores > 0 and resources.cpu > 0:
        findings.add("Task can only ask for 'cpu' or 'cores' resource, not both.", "Cores")
    if resources.cores < 0:
        findings.add(f"cores value ({resources.cores}) cannot be negative", "Cores")
    minimums = findings.below("")
    _check_minimums(resources, minimums)
    findings.nest(minimums)
    if resources.disk_mb > 0:
        text = (
            "Task can't ask for disk resources, they have to be specified at the task group level."
        )
        findings.add(text, "DiskMB")
    for position, device in enumerate(resources.devices):
        part = findings.below(f"Devices[{position}]")
        _check_device(device, part)
        findings.nest(part, f"device {position + 1} failed validation: ")
    _check_numa(resources, findings)
    _check_memory(resources, findings)


def _check_minimums(resources: Resources, findings: Findings) -> None:
    if resources.cores == 0 and resources.cpu < _MIN_CPU:
        findings.add(f"minimum CPU value is {_MIN_CPU}; got {resources.cpu}", "CPU")
    if resources.memory_mb < _MIN_MEMORY_MB:
        text = f"minimum MemoryMB value is {_MIN_MEMORY_MB}; got {resources.memory_mb}"
        findings.add(text, "MemoryMB")


def _check_memory(resources: Resources, findings: Findings) -> None:
    upper, lower = resources.memory_max_mb, resources.memory_mb
    if upper not in (0, _WITHOUT_LIMIT) and upper < lower:
        text = f"MemoryMaxMB value ({upper}) should be larger than MemoryMB value ({lower})"
        findings.add(text, "MemoryMaxMB")
    secrets = resources.secrets_mb
    if secrets > lower:
        text = f"SecretsMB value ({secrets}) cannot be larger than MemoryMB value ({lower})"
        findings.add(text, "SecretsMB")
    if secrets < 0:
        findings.add(f"SecretsMB value ({secrets}) cannot be negative", "SecretsMB")


def _check_device(device: RequestedDevice, findings: Findings) -> None:
    if not device.name:
        text = (
            "device name must be given as one of the following: type, vendor/type, "
            "or vendor/type/name"
        )
        findings.add(text, "Name")
    for position, constraint in enumerate(device.constraints):
        head = f"Constraint {position + 1} validation failed: "
        if constraint.operand in _DISTINCT:
            text = f"{head}using unsupported operand {quoted(constraint.operand)}"
            findings.add(text, f"Constraints[{position}]")
        part = findings.below(f"Constraints[{position}]")
        check_constraint(constraint, part)
        findings.nest(part, head)
    check_affinities(device.affinities, findings)


def _check_numa(resources: Resources, findings: Findings) -> None:
    numa = resources.numa
    if numa is None:
        return
    asked = {device.name for device in resources.devices}
    for name in numa.devices:
        if name not in asked:
            text = f"numa device {quoted(name)} not requested as task resource"
            findings.add(text, "NUMA.Devices")
    if numa.affinity not in ("none", "prefer", "require"):
        findings.add("numa affinity must be one of none, prefer, or require", "NUMA.Affinity")
