"""The names an expression may use, and the work it may take.

Out: `Scope`, its `Budget`, and the `EvaluationProblem` that ends an expression. Knows of
syntax only places.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from cluster.jobspec.hcl import syntax
from cluster.jobspec.hcl.source import Source
from cluster.jobspec.hcl.syntax_problem import SyntaxProblem
from cluster.jobspec.hcl.values import Value

#: Steps one job file may take, and characters its texts may come to, all expressions together.
MAX_STEPS = 400_000
MAX_CHARACTERS = 8_000_000
#: Steps that one operation on long numbers is worth, and one block that is read.
COST_OF_RECKONING = 10
COST_OF_BLOCK = 80


class EvaluationProblem(SyntaxProblem):
    """An expression that has no value.

    `blames_value`: the value itself was wrong, not a name in it.
    """


@dataclass(slots=True)
class Budget:
    """What evaluation has left."""

    steps: int = MAX_STEPS
    characters: int = MAX_CHARACTERS


@dataclass(slots=True)
class Scope:
    """The names an expression may use. Roots that are in neither stay text."""

    source: Source
    #: `var` and `local`: the values, asked for by name when needed.
    roots: dict[str, Callable[[str, syntax.SyntaxNode], Value]] = field(default_factory=dict)
    #: Iterators of comprehensions and dynamic blocks.
    iterators: dict[str, Value] = field(default_factory=dict)
    budget: Budget = field(default_factory=Budget)
    depth: int = 0

    def with_iterators(self, **names: Value) -> "Scope":
        """The same scope with further iterators."""
        return Scope(self.source, self.roots, {**self.iterators, **names}, self.budget, self.depth)


def charge(steps: int, node: syntax.SyntaxNode, scope: Scope) -> None:
    """Take steps off the budget. Raises `EvaluationProblem` when none are left."""
    scope.budget.steps -= steps
    if scope.budget.steps < 0:
        detail = "The file takes too many steps."
        raise EvaluationProblem(node.start, node.end, "Too much work", detail)


def counted(text: str, node: syntax.SyntaxNode, scope: Scope) -> str:
    """The text itself, its length taken off the budget."""
    scope.budget.characters -= len(text)
    if scope.budget.characters < 0:
        raise EvaluationProblem(
            node.start, node.end, "Too much text", "The file's texts grow too long."
        )
    return text


def weighed(value: Value, node: syntax.SyntaxNode, scope: Scope) -> Value:
    """Charge a value that was not written out to the budget.

    It may be far larger than its name.
    """
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            counted(item, node, scope)
        elif isinstance(item, list | dict):
            charge(len(item), node, scope)
            pending.extend(item.values() if isinstance(item, dict) else item)
    return value
