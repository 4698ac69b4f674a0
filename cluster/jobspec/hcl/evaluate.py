"""The value of an expression.

In: a syntax node and a `Scope`. Out: a value; a mistake is raised as `EvaluationProblem` with its
place. Names that only mean something on the node stay in the text as they were written.
"""

from collections.abc import Callable

from cluster.jobspec.hcl import syntax
from cluster.jobspec.hcl.functions import FunctionProblem, call_function
from cluster.jobspec.hcl.reckon import joined, negated, operand_of
from cluster.jobspec.hcl.scope import EvaluationProblem, Scope, charge, counted, weighed
from cluster.jobspec.hcl.syntax_problem import SyntaxProblem
from cluster.jobspec.hcl.values import (
    Mismatch,
    TypedMap,
    TypedSet,
    Value,
    is_number,
    to_bool,
    to_number,
    to_text,
    type_word,
)


def evaluate(node: syntax.Expression, scope: Scope) -> Value:
    """The value of the expression. Raises `EvaluationProblem`."""
    charge(1, node, scope)
    return _EVALUATORS[type(node)](node, scope)


def _literal(node: syntax.LiteralExpression, _scope: Scope) -> Value:
    return node.value


def _template(node: syntax.TemplateExpression, scope: Scope) -> Value:
    if len(node.parts) == 1 and isinstance(node.parts[0], syntax.Fill):
        # A text that is nothing but one part takes that part's type.
        return _filled(node.parts[0], scope)
    text = "".join(_part_text(part, scope) for part in node.parts)
    return counted(text, node, scope)


def _part_text(part: syntax.Expression, scope: Scope) -> str:
    value = _filled(part, scope) if isinstance(part, syntax.Fill) else evaluate(part, scope)
    if value is None:
        detail = "The expression result is null. Cannot include a null value in a string template."
        raise EvaluationProblem(
            part.start, part.end, "Invalid template interpolation value", detail
        )
    try:
        return to_text(value)
    except Mismatch as mismatch:
        detail = f"Cannot include the given value in a string template: {mismatch}."
        raise EvaluationProblem(
            part.start, part.end, "Invalid template interpolation value", detail
        ) from None


def _filled(part: syntax.Fill, scope: Scope) -> Value:
    if _is_of_the_node(part.inner, scope):
        # The job keeps what stands between the braces, blanks and all. The brace that follows is
        # doubled, as in the language's own reader: what is already stored must not change its
        # meaning.
        text = scope.source.text[part.start : part.end]
        return text + "}" if part.is_before_brace else text
    return evaluate(part.inner, scope)


def _is_of_the_node(node: syntax.Expression, scope: Scope) -> bool:
    root = node.root if isinstance(node, syntax.Traversal) else node
    if not isinstance(root, syntax.Reference):
        return False
    return root.name not in scope.roots and root.name not in scope.iterators


def _reference(node: syntax.Reference, scope: Scope) -> Value:
    if node.name in scope.iterators:
        return weighed(scope.iterators[node.name], node, scope)
    if node.name in scope.roots:
        detail = f'"{node.name}" must be followed by a dot and a name.'
        raise EvaluationProblem(node.start, node.end, "Invalid reference", detail)
    return "${" + scope.source.text[node.start : node.end] + "}"


def _traversal(node: syntax.Traversal, scope: Scope) -> Value:
    if _is_of_the_node(node, scope):
        return "${" + scope.source.text[node.start : node.end] + "}"
    steps = node.steps
    if (
        isinstance(node.root, syntax.Reference)
        and node.root.name in scope.roots
        and (node.root.name not in scope.iterators)
    ):
        name = _step_name(steps[0], scope)
        # The same value may be named often; each time counts in full, or few lines could say very
        # much.
        value = weighed(scope.roots[node.root.name](name, steps[0]), node, scope)
        return _follow(value, steps[1:], scope)
    return _follow(evaluate(node.root, scope), steps, scope)


def _step_name(step: syntax.TraversalStep, scope: Scope) -> str:
    if step.name is not None:
        return step.name
    if step.key is not None:
        key = evaluate(step.key, scope)
        if isinstance(key, str):
            return key
    raise EvaluationProblem(step.start, step.end, "Invalid reference", "A name is required here.")


def _follow(value: Value, steps: list[syntax.TraversalStep], scope: Scope) -> Value:
    for step in steps:
        if step.each is not None:
            value = _splat(value, step, scope)
        else:
            key = step.name if step.name is not None else None
            if key is None and step.key is not None:
                key = evaluate(step.key, scope)
            value = _index(value, key, step)
    return value


def _splat(value: Value, step: syntax.TraversalStep, scope: Scope) -> Value:
    if value is None:
        return []
    items = value if isinstance(value, list) else [value]
    return [_follow(item, step.each or [], scope) for item in items]


def _index(value: Value, key: Value, step: syntax.TraversalStep) -> Value:
    if isinstance(value, dict):
        if key is not None and not isinstance(key, list | dict):
            name = to_text(key)
            if name in value:
                return value[name]
            if step.name is not None or not isinstance(value, TypedMap):
                detail = f'This object does not have an attribute named "{name}".'
                raise EvaluationProblem(step.start, step.end, "Unsupported attribute", detail)
        detail = "The given key does not identify an element in this collection value."
        raise EvaluationProblem(step.start, step.end, "Invalid index", detail)
    if isinstance(value, list) and not isinstance(value, TypedSet):
        try:
            number = to_number(key)
        except Mismatch:
            number = -1
        if isinstance(number, int) and 0 <= number < len(value):
            return value[number]
        detail = "The given key does not identify an element in this collection value."
        raise EvaluationProblem(step.start, step.end, "Invalid index", detail)
    detail = f"This value has no attributes or elements: it is a {type_word(value)}."
    raise EvaluationProblem(step.start, step.end, "Unsupported attribute", detail)


def _call(node: syntax.FunctionCall, scope: Scope) -> Value:
    if node.name in ("try", "can"):
        return _attempt(node, scope)
    if node.name == "convert":
        return _convert(node, scope)
    arguments = [evaluate(argument, scope) for argument in node.arguments]
    if node.expands_last:
        last = arguments.pop()
        if not isinstance(last, list):
            place = node.arguments[-1]
            detail = (
                "The expanding argument (indicated by ...) must be of a tuple, list, or set type."
            )
            raise EvaluationProblem(
                place.start, place.end, "Invalid expanding argument value", detail
            )
        arguments.extend(last)
    try:
        value = call_function(node.name, arguments)
    except FunctionProblem as problem:
        place = node
        if problem.argument is not None and problem.argument < len(node.arguments):
            place = node.arguments[problem.argument]
        raise EvaluationProblem(place.start, place.end, problem.summary, problem.detail) from None
    except (Mismatch, ValueError, OverflowError, ZeroDivisionError) as error:
        detail = f'Call to function "{node.name}" failed: {error}.'
        raise EvaluationProblem(node.start, node.end, "Error in function call", detail) from None
    return weighed(value, node, scope)


def _attempt(node: syntax.FunctionCall, scope: Scope) -> Value:
    for argument in node.arguments:
        try:
            value = evaluate(argument, scope)
        except EvaluationProblem:
            if scope.budget.steps < 0 or scope.budget.characters < 0:
                raise
            continue
        return True if node.name == "can" else value
    if node.name == "can":
        return False
    detail = "No expression succeeded."
    raise EvaluationProblem(node.start, node.end, "Error in function call", detail)


def _convert(node: syntax.FunctionCall, scope: Scope) -> Value:
    # Imported here: a type is read from an expression, and default values of types are
    # expressions.
    from cluster.jobspec.hcl.types import converted, read_type  # noqa: PLC0415 - see above

    if len(node.arguments) != 2:
        detail = 'Function "convert" expects 2 argument(s).'
        raise EvaluationProblem(node.start, node.end, "Wrong number of function arguments", detail)
    value = evaluate(node.arguments[0], scope)
    try:
        return converted(value, read_type(node.arguments[1]))
    except EvaluationProblem:
        raise
    except SyntaxProblem as problem:
        raise EvaluationProblem(
            problem.start, problem.end, problem.summary, problem.detail
        ) from None
    except Mismatch as mismatch:
        detail = f'Invalid value for "value" parameter: {mismatch}.'
        raise EvaluationProblem(
            node.start, node.end, "Invalid function argument", detail
        ) from None


def _unary(node: syntax.Unary, scope: Scope) -> Value:
    value = evaluate(node.operand, scope)
    return negated(node, value)


def _binary(node: syntax.Binary, scope: Scope) -> Value:
    # Long sums lean to the left; going down that side in a loop keeps the recursion shallow.
    spine: list[syntax.Binary] = []
    first: syntax.Expression = node
    while isinstance(first, syntax.Binary):
        spine.append(first)
        first = first.left
    value = evaluate(first, scope)
    for each in reversed(spine):
        right = evaluate(each.right, scope)
        value = joined(each, value, right, scope)
    return value


def _conditional(node: syntax.Conditional, scope: Scope) -> Value:
    condition = evaluate(node.condition, scope)
    if condition is None:
        detail = "The condition value is null. Conditions must either be true or false."
        raise EvaluationProblem(node.condition.start, node.condition.end, "Null condition", detail)
    try:
        is_chosen = to_bool(condition)
    except Mismatch:
        detail = "The condition expression must be of type bool."
        raise EvaluationProblem(
            node.condition.start, node.condition.end, "Incorrect condition type", detail
        ) from None
    value = evaluate(node.chosen if is_chosen else node.otherwise, scope)
    return _as_its_sibling(value, node.otherwise if is_chosen else node.chosen)


def _as_its_sibling(value: Value, sibling: syntax.Expression) -> Value:
    """Both branches have one type.

    Next to a written text, a number or truth value becomes text.
    """
    is_text = isinstance(sibling, syntax.LiteralExpression) and isinstance(sibling.value, str)
    if is_text and (is_number(value) or isinstance(value, bool)):
        return to_text(value)
    return value


def _parentheses(node: syntax.Parentheses, scope: Scope) -> Value:
    return evaluate(node.inner, scope)


def _tuple(node: syntax.Tuple, scope: Scope) -> Value:
    return [evaluate(item, scope) for item in node.items]


def _object(node: syntax.Object, scope: Scope) -> Value:
    return {object_key(key, scope): evaluate(value, scope) for key, value in node.items}


def object_key(node: syntax.Expression, scope: Scope) -> str:
    """The key an object expression names: a bare name stands for itself."""
    if isinstance(node, syntax.Reference):
        return node.name
    value = evaluate(node, scope)
    try:
        if value is None:
            raise Mismatch("null cannot be a key")
        return to_text(value)
    except Mismatch as mismatch:
        detail = f"Can't use this value as a key: {mismatch}."
        raise EvaluationProblem(node.start, node.end, "Incorrect key type", detail) from None


def pairs(collection: Value) -> list[tuple[Value, Value]] | None:
    """Keys and values of a collection in the order of iteration; None if it is none."""
    if isinstance(collection, dict):
        return sorted(collection.items())
    if isinstance(collection, TypedSet):
        return [(item, item) for item in collection]
    if isinstance(collection, list):
        return list(enumerate(collection))
    return None


def _iterated(node: syntax.Expression, scope: Scope) -> list[tuple[Value, Value]]:
    found = pairs(evaluate(node, scope))
    if found is None:
        detail = "A value that is no list, set, tuple, map or object cannot be iterated over."
        raise EvaluationProblem(node.start, node.end, "Iteration over non-iterable value", detail)
    return found


def _comprehension(node: syntax.Comprehension, scope: Scope) -> Value:
    items: list[Value] = []
    entries: dict[str, Value] = {}
    for key, value in _iterated(node.collection, scope):
        names = {node.value_name: value} | ({node.key_name: key} if node.key_name else {})
        inner = scope.with_iterators(**names)
        if node.condition is not None and not _holds(node.condition, inner):
            continue
        if node.key is None:
            items.append(evaluate(node.value, inner))
            continue
        name = object_key(_computed(node.key), inner)
        made = evaluate(node.value, inner)
        if node.is_grouped:
            entries.setdefault(name, []).append(made)
        elif name in entries:
            detail = f'Two different items produced the key "{name}".'
            raise EvaluationProblem(node.key.start, node.key.end, "Duplicate object key", detail)
        else:
            entries[name] = made
    return items if node.key is None else entries


def _computed(key: syntax.Expression) -> syntax.Expression:
    return syntax.Parentheses(key.start, key.end, key)


def _holds(node: syntax.Expression, scope: Scope) -> bool:
    value = evaluate(node, scope)
    with operand_of(node):
        return to_bool(value)


def _choice(node: syntax.Choice, scope: Scope) -> Value:
    is_chosen = _holds(node.condition, scope)
    return _text_of(node.chosen if is_chosen else node.otherwise, scope)


def _repeat(node: syntax.Repeat, scope: Scope) -> Value:
    texts = []
    for key, value in _iterated(node.collection, scope):
        names = {node.value_name: value} | ({node.key_name: key} if node.key_name else {})
        texts.append(_text_of(node.body, scope.with_iterators(**names)))
    return counted("".join(texts), node, scope)


def _text_of(node: syntax.TemplateExpression, scope: Scope) -> str:
    return counted("".join(_part_text(part, scope) for part in node.parts), node, scope)


_EVALUATORS: dict[type, Callable[..., Value]] = {
    syntax.LiteralExpression: _literal,
    syntax.TemplateExpression: _template,
    syntax.Fill: _filled,
    syntax.StrippingFill: _filled,
    syntax.Choice: _choice,
    syntax.Repeat: _repeat,
    syntax.Reference: _reference,
    syntax.Traversal: _traversal,
    syntax.FunctionCall: _call,
    syntax.Unary: _unary,
    syntax.Binary: _binary,
    syntax.Conditional: _conditional,
    syntax.Parentheses: _parentheses,
    syntax.Tuple: _tuple,
    syntax.Object: _object,
    syntax.Comprehension: _comprehension,
}
