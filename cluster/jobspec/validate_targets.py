"""Rules for constraints, affinities and spreads.

In: one of them. Out: what is wrong with it. Knows nothing of the job around it.
"""

from cluster.jobspec.findings import Findings
from cluster.jobspec.patterns import Re2Matcher
from cluster.jobspec.quoting import quoted
from cluster.jobspec.versions import semver_problem, version_problem
from scheduler.structs.constraint import Affinity, Constraint, Operand, Spread

_SET_OPERANDS = {Operand.SET_CONTAINS, Operand.SET_CONTAINS_ALL, Operand.SET_CONTAINS_ANY}
_PLAIN_OPERANDS = {
    Operand.EQUAL, Operand.EQUAL_DOUBLE, Operand.IS, Operand.NOT_EQUAL, Operand.NOT, Operand.LESS,
    Operand.LESS_EQUAL, Operand.GREATER, Operand.GREATER_EQUAL,
}  # fmt: skip
_READ_OPERANDS = (Operand.REGEXP, Operand.VERSION, Operand.SEMVER)
_SET_OR_NOT = (Operand.IS_SET, Operand.IS_NOT_SET)
#: What constraints may name of a node, as a whole and by what the name begins with.
_NODE_NAMES = {
    "${node.unique.id}", "${node.datacenter}", "${node.unique.name}", "${node.class}",
    "${node.pool}",
}  # fmt: skip
_NAME_STARTS = ("${attr.", "${device.", "${meta.")
_WEIGHT_LIMIT = 100
_LARGEST_COUNT = 2**64 - 1

MATCHER = Re2Matcher()


def check_constraints(constraints: tuple[Constraint, ...], findings: Findings) -> None:
    """Add the faults of each constraint of a job, group or device."""
    for position, constraint in enumerate(constraints):
        part = findings.below(f"Constraints[{position}]")
        check_constraint(constraint, part)
        findings.nest(part, f"Constraint {position + 1} validation failed: ")


def check_constraint(constraint: Constraint, findings: Findings) -> None:
    """Add the faults of one constraint."""
    operand = constraint.operand
    if not operand:
        findings.add("Missing constraint operand", "Operand")
    if operand in _SET_OR_NOT:
        if constraint.r_target:
            findings.add(f"Operator {quoted(operand)} does not support an RTarget", "RTarget")
    elif operand == Operand.DISTINCT_PROPERTY:
        _check_distinct_property(constraint.r_target, findings)
    elif operand != Operand.DISTINCT_HOSTS:
        words = ("Set contains constraint requires", "constraint")
        if not _check_value(operand, constraint.r_target, words, findings):
            findings.add(f"Unknown constraint type {quoted(operand)}", "Operand")
    _check_attribute(constraint, findings)


def _check_value(operand: str, value: str, words: tuple[str, str], findings: Findings) -> bool:
    """Check the operands that read their value; False for any other operand.

    `words`: how refusals speak of sets, and of what the operand belongs to.
    """
    if operand in _PLAIN_OPERANDS:
        text = "" if value else f"Operator {quoted(operand)} requires an RTarget"
    elif operand in _SET_OPERANDS:
        text = "" if value else f"{words[0]} an RTarget"
    elif operand in _READ_OPERANDS:
        text = _reading_problem(operand, value, words[1])
    else:
        return False
    if text:
        findings.add(text, "RTarget")
    return True


def _reading_problem(operand: str, value: str, owner: str) -> str:
    """Why a pattern or a version requirement cannot be read; empty if it can."""
    if operand == Operand.REGEXP:
        problem = MATCHER.problem(value)
        head = "Regular expression failed to compile: error parsing regexp"
    elif operand == Operand.VERSION:
        problem = version_problem(value)
        head = f"Version {owner} is invalid"
    else:
        problem = semver_problem(value)
        head = f"Semver {owner} is invalid"
    return f"{head}: {problem}" if problem else ""


def _check_distinct_property(value: str, findings: Findings) -> None:
    if not value:
        return
    if not (value.isascii() and value.isdigit()):
        problem = "invalid syntax"
    elif len(value.lstrip("0")) > 20 or int(value) > _LARGEST_COUNT:
        problem = "value out of range"
    else:
        if int(value) < 1:
            text = "Distinct Property must have an allowed count of 1 or greater"
            findings.add(f"{text}: {int(value)} < 1", "RTarget")
        return
    text = f"Failed to convert RTarget {quoted(value)} to uint64: strconv.ParseUint"
    findings.add(f"{text}: parsing {quoted(value)}: {problem}", "RTarget")


def _check_attribute(constraint: Constraint, findings: Findings) -> None:
    target = constraint.l_target
    if not target:
        if constraint.operand != Operand.DISTINCT_HOSTS:
            findings.add("no attribute provided but is required by operator", "LTarget")
    elif not target.startswith("$"):
        return  # a literal, compared as it is
    elif not target.startswith("${"):
        findings.add(f"attribute {quoted(target)} is missing an opening brace", "LTarget")
    elif not target.endswith("}"):
        findings.add(f"attribute {quoted(target)} is missing a closing brace", "LTarget")
    elif target not in _NODE_NAMES and not target.startswith(_NAME_STARTS):
        findings.add(f"unsupported attribute {quoted(target)}", "LTarget")


def check_affinities(affinities: tuple[Affinity, ...], findings: Findings) -> None:
    """Add the faults of each affinity of a job, group, task or device."""
    for position, affinity in enumerate(affinities):
        part = findings.below(f"Affinities[{position}]")
        _check_affinity(affinity, part)
        findings.nest(part, f"Affinity {position + 1} validation failed: ")


def _check_affinity(affinity: Affinity, findings: Findings) -> None:
    operand = affinity.operand
    if not operand:
        findings.add("Missing affinity operand", "Operand")
    words = ("Set contains operators require", "affinity")
    if not _check_value(operand, affinity.r_target, words, findings):
        findings.add(f"Unknown affinity operator {quoted(operand)}", "Operand")
    if not affinity.l_target:
        findings.add("No LTarget provided but is required", "LTarget")
    if affinity.weight == 0:
        findings.add("Affinity weight cannot be zero", "Weight")
    if abs(affinity.weight) > _WEIGHT_LIMIT:
        findings.add("Affinity weight must be within the range [-100,100]", "Weight")


def check_spreads(spreads: tuple[Spread, ...], findings: Findings) -> None:
    """Add the faults of each spread of a job or group."""
    for position, spread in enumerate(spreads):
        part = findings.below(f"Spreads[{position}]")
        _check_spread(spread, part)
        findings.nest(part, f"Spread {position + 1} validation failed: ")


def _check_spread(spread: Spread, findings: Findings) -> None:
    if not spread.attribute:
        findings.add("Missing spread attribute", "Attribute")
    if not 0 < spread.weight <= _WEIGHT_LIMIT:
        findings.add("Spread block must have a positive weight from 0 to 100", "Weight")
    seen: set[str] = set()
    total = 0
    for position, target in enumerate(spread.spread_target):
        place = f"SpreadTarget[{position}]"
        if target.value in seen:
            findings.add(f"Spread target value {quoted(target.value)} already defined", place)
        seen.add(target.value)
        if target.percent > 100:
            text = f"Spread target percentage for value {quoted(target.value)}"
            findings.add(f"{text} must be between 0 and 100", place)
        total += target.percent
    if total > 100:
        findings.add(
            f"Sum of spread target percentages must not be greater than 100%; got {total}%",
            "SpreadTarget",
        )
