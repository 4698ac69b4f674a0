"""A request as a value: what is asked, and as what its answer is read."""

from collections.abc import Mapping
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import quote

import msgspec

Result = TypeVar("Result")

Query = Mapping[str, str]


class Request(NamedTuple, Generic[Result]):
    """One request. `kind` is the type of its answer; `Any` stands for plain JSON."""

    method: str
    #: Below `/v1/`.
    path: str
    kind: Any
    query: Query = {}
    #: Sent as JSON; None: without a body.
    body: Any = None
    #: The one field of the answer that holds what was asked for; "": all of it.
    inside: str = ""

    def with_query(self, **query: str) -> "Request[Result]":
        """The same with further parameters."""
        return self._replace(query={**self.query, **query})


def path(template: str, **names: str) -> str:
    """A path of the document with its names filled in; slashes in them are no separators."""
    return template.format(**{name: quote(text, safe="") for name, text in names.items()})


def query_of(**given: object) -> dict[str, str]:
    """The parameters that were given, as the server reads them."""
    return {
        name: ("true" if value else "false") if isinstance(value, bool) else str(value)
        for name, value in given.items()
        if value is not None and value != ""
    }


def body_of(value: object) -> Any:
    """Structs by their wire names, as the server reads them.

    A struct inside another one that is its type's default is left out: nothing was said of it, and
    the server puts in what is usual (the resources of a task, a policy of restarts).
    """
    if isinstance(value, msgspec.Struct):
        return {
            field.encode_name: body_of(getattr(value, field.name))
            for field in msgspec.structs.fields(value)
            if not _is_unsaid(getattr(value, field.name))
        }
    if isinstance(value, list | tuple):
        return [body_of(each) for each in value]
    if isinstance(value, dict):
        return {name: body_of(each) for name, each in value.items()}
    return msgspec.to_builtins(value)


def _is_unsaid(value: object) -> bool:
    if not isinstance(value, msgspec.Struct):
        return False
    has_default = not any(field.required for field in msgspec.structs.fields(value))
    return has_default and value == type(value)()
