"""Job text and JSON documents into jobs.

In: JSON (decoded, bytes or text) or HCL. Out: request forms and canonical `Job`s, unknown fields, or
`JobProblems` with everything wrong and, for text, where. Knows no rules beyond types.
"""

import json
from typing import Any, NamedTuple

from cluster.jobspec.canonicalize import canonicalize
from cluster.jobspec.json_places import places
from cluster.jobspec.problems import JobProblems, Problem
from cluster.jobspec.request_form import RequestForm, Steps, complete, path_text
from scheduler.structs.job import Job

#: The longest text taken; doors answer 413 above it before they come here.
MAX_TEXT = 1 << 20


class ParsedText(NamedTuple):
    """What a job text says."""

    form: RequestForm
    job: Job
    #: hcl2 or json, as submissions name it.
    format: str
    #: Fields nobody knows, and values nobody declared; each a sentence.
    warnings: tuple[Problem, ...]


def decode_job(document: dict[str, Any] | bytes | str) -> tuple[RequestForm, tuple[str, ...]]:
    """The request form of a job document, and the paths of fields nobody knows.

    Raises `JobProblems` with every wrong type, or with the syntax error.
    """
    if isinstance(document, bytes | str):
        form, unknown = _decode_text(_text(document))
    else:
        form, unknown = complete("Job", document)
    return form, tuple(path_text(steps) for steps in unknown)


def parse_job(document: dict[str, Any] | bytes | str) -> Job:
    """The canonical job of a JSON document; unknown fields are ignored."""
    return parse_job_with_notes(document)[0]


def parse_job_with_notes(document: dict[str, Any] | bytes | str) -> tuple[Job, tuple[str, ...]]:
    """As `parse_job`, and the paths of the ignored fields."""
    form, unknown = decode_job(document)
    return canonicalize(form), unknown


def _text(document: bytes | str) -> str:
    if len(document) > MAX_TEXT:
        raise JobProblems([Problem("", "job is larger than 1 MiB")], malformed=True)
    return document.decode("utf-8", "replace") if isinstance(document, bytes) else document


def _decode_text(text: str) -> tuple[RequestForm, tuple[Steps, ...]]:
    document = _json(text)
    # The body of a request wraps the job; a file may hold either.
    inner: tuple[str | int, ...] = ()
    if (
        isinstance(document, dict)
        and len(document) == 1
        and next(iter(document)).casefold() == "job"
    ):
        inner = (next(iter(document)),)
        document = document[next(iter(document))]
    return complete("Job", document, lambda steps: places(text).of((*inner, *steps)))


def _json(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        problem = Problem("", f"invalid JSON: {error.msg}", error.lineno, error.colno)
        raise JobProblems([problem], malformed=True) from None
    except RecursionError:
        raise JobProblems([Problem("", "exceeded max depth")], malformed=True) from None
    except ValueError as error:
        raise JobProblems([Problem("", f"invalid JSON: {error}")], malformed=True) from None


def _no_constant(name: str) -> object:
    raise ValueError(f"invalid character in literal {name}")
