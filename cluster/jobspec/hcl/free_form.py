"""Blocks of a job file that hold whatever a driver or plugin wants: `config`, `policy`.

In: a body and a scope. Out: JSON values. Attributes become members, blocks become lists of
objects, labels become nested objects. Nothing is unfolded here.
"""

from typing import Any

from cluster.jobspec.hcl import syntax
from cluster.jobspec.hcl.evaluate import evaluate
from cluster.jobspec.hcl.json_body import JsonBody
from cluster.jobspec.hcl.scope import EvaluationProblem, Scope
from cluster.jobspec.hcl.values import to_json


def free_body(body: "syntax.BlockBody | JsonBody", scope: Scope) -> dict[str, Any]:
    """The members of a free block."""
    members: dict[str, Any] = {}
    is_json = isinstance(body, JsonBody)
    for name, attribute in free_attributes(body).items():
        try:
            value = to_json(evaluate(attribute.expression, scope))
        except EvaluationProblem as problem:
            scope.source.note(problem.start, problem.end, problem.summary, problem.detail)
            continue
        if value is None:
            continue
        # The older language could not tell an object from a block, and drivers still expect a
        # list.
        is_object = isinstance(attribute.expression, syntax.Object) and not is_json
        members[name] = [value] if is_object else value
    for block in body.blocks if isinstance(body, syntax.BlockBody) else ():
        inner: dict[str, Any] = free_body(block.body, scope)
        for label in reversed(block.labels):
            inner = {label: [inner]}
        known = members.setdefault(block.type, [])
        if isinstance(known, list):
            known.append(inner)
    return members


def free_attributes(body: "syntax.BlockBody | JsonBody") -> dict[str, syntax.Attribute]:
    """Every attribute of a body, whatever its name."""
    return body.attributes
