"""Rules for constraints, affinities and spreads.

In: one of them. Out: what is wrong with it. Knows nothing of the job around it.
"""

from cluster.jobspec.findings import Findings
from cluster.jobspec.patterns import Re2Matcher
from cluster.jobspec.versions import semver_problem, version_problem
from scheduler.structs.constraint import Affinity, Constraint, Operand, Spread

_SET_OPERANDS = {Operand.SET_CONTAINS, Operand.SET_CONTAINS_ALL, Operand.SET_CONTAINS_ANY}
_PLAIN_OPERANDS = {
    Operand.EQUAL, Operand.EQUAL_DOUBLE, Operand.IS, Operand.NOT_EQUAL, Operand.NOT, Operand.LESS,
    Operand.LESS_EQUAL, Operand.GREATER, Operand.GREATER_EQUAL,
}  # fmt: skip
#: Constraints that name no attribute or need none.
_TARGETLESS = {Operand.DISTINCT_HOSTS}
_WEIGHT_LIMIT = 100

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
    needs_target = operand not in _TARGETLESS
    if operand in (Operand.IS_SET, Operand.IS_NOT_SET):
        if constraint.r_target:
            findings.add(f"Operator {_quoted(operand)} does not support an RTarget", "RTarget")
    elif operand in _PLAIN_OPERANDS:
        if not constraint.r_target:
            findings.add(f"Operator {_quoted(operand)} requires an RTarget", "RTarget")
    elif operand == Operand.DISTINCT_PROPERTY:
        _check_distinct_property(constraint.r_target, findings)
    elif (
        not _check_value(operand, constraint.r_target, findings)
        and operand != Operand.DISTINCT_HOSTS
    ):
        needs_target = False
        findings.add(f"Unknown constraint type {_quoted(operand)}", "Operand")
    if needs_target and not constraint.l_target:
        findings.add("no attribute provided but is required by operator", "LTarget")


def _check_value(operand: str, value: str, findings: Findings) -> bool:
    """Check the operands that read their value; False for any other operand."""
    if operand in _SET_OPERANDS:
        if not value:
            findings.add("Set contains constraint requires an RTarget", "RTarget")
    elif operand == Operand.REGEXP:
        problem = MATCHER.problem(value)
        if problem:
            text = f"Regular expression failed to compile: error parsing regexp: {problem}"
            findings.add(text, "RTarget")
    elif operand == Operand.VERSION:
        problem = version_problem(value)
        if problem:
            findings.add(f"Version constraint is invalid: {problem}", "RTarget")
    elif operand == Operand.SEMVER:
        problem = semver_problem(value)
        if problem:
            findings.add(f"Semver constraint is invalid: {problem}", "RTarget")
    else:
        return False
    return True


def _check_distinct_property(value: str, findings: Findings) -> None:
    if not value:
        return
    if not (value.isascii() and value.isdigit() and len(value) <= 19):
        text = f'Failed to convert RTarget "{value}" to uint64: strconv.ParseUint'
        text += f': parsing "{value}": invalid syntax'
        findings.add(text, "RTarget")
    elif int(value) < 1:
        findings.add(
            f"Distinct Property must have an allowed count of 1 or greater: {value} < 1", "RTarget"
        )


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
    if operand in _PLAIN_OPERANDS:
        if not affinity.r_target:
            findings.add(f"Operator {_quoted(operand)} requires an RTarget", "RTarget")
    elif operand and not _check_value(operand, affinity.r_target, findings):
        findings.add(f"Unknown affinity operator {_quoted(operand)}", "Operand")
    if not affinity.l_target:
        findings.add("No LTarget provided but is required", "LTarget")
    if abs(affinity.weight) > _WEIGHT_LIMIT:
        findings.add("Affinity weight must be within the range [-100,100]", "Weight")
    if affinity.weight == 0:
        findings.add("Affinity weight cannot be zero", "Weight")


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
            findings.add(f"Spread target value {_quoted(target.value)} already defined", place)
        seen.add(target.value)
        if target.percent > 100:
            text = f'Spread target percentage for value "{target.value}" must be between 0 and 100'
            findings.add(text, place)
        total += target.percent
    if total > 100:
        findings.add(
            f"Sum of spread target percentages must not be greater than 100%; got {total}%",
            "SpreadTarget",
        )


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
