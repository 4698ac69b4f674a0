"""Operators of expressions applied to values: comparison, logic, arithmetic.

In: values and the node that joins them. Out: a value, or `EvaluationProblem` at the operand
to blame.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction

from cluster.jobspec.hcl import syntax
from cluster.jobspec.hcl.numerals import Number, rounded
from cluster.jobspec.hcl.scope import COST_OF_RECKONING, EvaluationProblem, Scope, charge
from cluster.jobspec.hcl.values import Mismatch, Value, are_equal, to_bool, to_number


def negated(node: syntax.Unary, value: Value) -> Value:
    """`!value` or `-value`."""
    with operand_of(node.operand):
        if node.operator == "!":
            return not to_bool(value)
        return rounded(-_finite(to_number(value), node)) if value is not None else None


def joined(node: syntax.Binary, left: Value, right: Value, scope: Scope) -> Value:
    """`left operator right`."""
    operator = node.operator
    if operator in ("==", "!="):
        return are_equal(left, right) == (operator == "==")
    if operator in ("&&", "||"):
        with operand_of(node.left):
            first = to_bool(left)
        with operand_of(node.right):
            second = to_bool(right)
        return (first and second) if operator == "&&" else (first or second)
    with operand_of(node.left):
        one = _finite(to_number(left), node.left)
    with operand_of(node.right):
        two = _finite(to_number(right), node.right)
    charge(COST_OF_RECKONING, node, scope)
    if operator in _COMPARISONS:
        return _COMPARISONS[operator](one, two)
    return _reckoned(node, one, two)


_COMPARISONS: dict[str, Callable[[int | Fraction, int | Fraction], bool]] = {
    "<": lambda one, two: one < two,
    ">": lambda one, two: one > two,
    "<=": lambda one, two: one <= two,
    ">=": lambda one, two: one >= two,
}


def _reckoned(node: syntax.Binary, one: int | Fraction, two: int | Fraction) -> Number:
    if node.operator == "+":
        return rounded(one + two)
    if node.operator == "-":
        return rounded(one - two)
    if node.operator == "*":
        return rounded(one * two)
    if node.operator == "/":
        if two == 0:
            if one == 0:
                detail = "Zero divided by zero is no number."
                raise EvaluationProblem(node.start, node.end, "Division by zero", detail)
            return float("inf") if one > 0 else float("-inf")
        return rounded(Fraction(one) / Fraction(two))
    if two == 0:
        return one
    remainder = abs(Fraction(one)) % abs(Fraction(two))
    return rounded(-remainder if one < 0 else remainder)


@contextmanager
def operand_of(node: syntax.SyntaxNode) -> Iterator[None]:
    """Blame the node for a value of the wrong type."""
    try:
        yield
    except Mismatch as mismatch:
        detail = f"Unsuitable value for operand: {mismatch}."
        raise EvaluationProblem(node.start, node.end, "Invalid operand", detail) from None


def _finite(number: Number, node: syntax.SyntaxNode) -> int | Fraction:
    if isinstance(number, float):
        detail = "The value is infinite and cannot be reckoned with."
        raise EvaluationProblem(node.start, node.end, "Invalid operand", detail)
    return number
