"""The functions an expression may call, by name.

In: a name and values. Out: a value; `FunctionProblem` says which argument was wrong. Pure: what
would read files, the clock or chance is refused by name.
"""

import inspect
from collections.abc import Callable

from cluster.jobspec.hcl import (
    functions_collection,
    functions_encoding,
    functions_format,
    functions_network,
    functions_number,
    functions_text,
    functions_time,
)
from cluster.jobspec.hcl.nearest import nearest
from cluster.jobspec.hcl.values import Mismatch, Value

_OF_FILES = frozenset(
    [
        "abspath",
        "basename",
        "dirname",
        "file",
        "filebase64",
        "fileexists",
        "fileset",
        "pathexpand",
        "templatefile",
    ]
)
_NOT_HERE = {
    "uuidv4": "no chance is available while a file is read; write the id down",
    "timestamp": "no clock is available while a file is read",
    "bcrypt": "hashes with a random salt differ at each reading; store the hash instead",
    "rsadecrypt": "keys do not belong in job files",
    "yamldecode": "YAML is not read here; use jsondecode",
}


class FunctionProblem(Exception):
    """The call has no value. `argument`: which one is to blame, None for the call itself."""

    def __init__(self, summary: str, detail: str, argument: int | None = None) -> None:
        super().__init__(detail)
        self.summary = summary
        self.detail = detail
        self.argument = argument


def call_function(name: str, arguments: list[Value]) -> Value:
    """The value of a call. Raises `FunctionProblem`."""
    function = _FUNCTIONS.get(name)
    if function is None:
        raise _unknown(name)
    _check_count(name, len(arguments))
    try:
        return function(*arguments)
    except functions_text.BadArgument as bad:
        detail = f'Invalid value for "{bad.name}" parameter: {bad}.'
        raise FunctionProblem("Invalid function argument", detail, bad.position) from None
    except (Mismatch, ValueError, OverflowError, ArithmeticError, RecursionError) as error:
        detail = f'Call to function "{name}" failed: {error}.'
        raise FunctionProblem("Error in function call", detail) from None


def _unknown(name: str) -> FunctionProblem:
    if name in _OF_FILES:
        detail = f'Call to function "{name}" failed: filesystem function disabled.'
        return FunctionProblem("Error in function call", detail)
    if name in _NOT_HERE:
        detail = f'Call to function "{name}" failed: {_NOT_HERE[name]}.'
        return FunctionProblem("Error in function call", detail)
    detail = f'There is no function named "{name}".' + nearest(name, _FUNCTIONS)
    return FunctionProblem("Call to unknown function", detail)


def _check_count(name: str, count: int) -> None:
    least, most = _COUNTS[name]
    if count < least:
        detail = f'Function "{name}" expects {least} argument(s); {count} given.'
        raise FunctionProblem("Not enough function arguments", detail)
    if most is not None and count > most:
        detail = f'Function "{name}" expects only {most} argument(s).'
        raise FunctionProblem("Too many function arguments", detail, most)


def _counts(function: Callable[..., Value]) -> tuple[int, int | None]:
    parameters = inspect.signature(function).parameters.values()
    fixed = [each for each in parameters if each.kind is not inspect.Parameter.VAR_POSITIONAL]
    least = sum(each.default is inspect.Parameter.empty for each in fixed)
    return least, len(fixed) if len(fixed) == len(parameters) else None


_FUNCTIONS: dict[str, Callable[..., Value]] = {
    **functions_collection.FUNCTIONS,
    **functions_encoding.FUNCTIONS,
    **functions_format.FUNCTIONS,
    **functions_network.FUNCTIONS,
    **functions_number.FUNCTIONS,
    **functions_text.FUNCTIONS,
    **functions_time.FUNCTIONS,
}
_COUNTS = {name: _counts(function) for name, function in _FUNCTIONS.items()}
