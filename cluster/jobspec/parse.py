"""Job text and JSON documents into jobs.

In: JSON (decoded, bytes or text) or HCL. Out: request forms and canonical `Job`s, unknown fields,
or `JobProblems` with everything wrong and, for text, where. Knows no rules beyond types.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cluster.jobspec.canonicalize import canonicalize
from cluster.jobspec.hcl.job_file import read_job_file
from cluster.jobspec.json_places import places
from cluster.jobspec.limits import object_limit, refuse_oversized
from cluster.jobspec.problems import JobProblems, Problem
from cluster.jobspec.request_form import (
    Place,
    RequestForm,
    Steps,
    complete,
    path_steps,
    path_text,
)
from cluster.jobspec.validate import single_problems
from scheduler.structs.job import Job

#: The longest text taken; doors answer 413 above it before they come here.
MAX_TEXT = 1 << 20


@dataclass(frozen=True, slots=True)
class ParsedText:
    """What a job text says."""

    form: RequestForm
    job: Job
    #: hcl2 or json, as submissions name it.
    format: str
    #: Fields nobody knows, and values nobody declared; each a sentence with its place.
    warnings: tuple[Problem, ...]
    place_of: Callable[[Steps], Place]

    def problems(self) -> tuple[Problem, ...]:
        """Every broken rule of the job by itself, at the place in the text that breaks it."""
        return tuple(
            problem._replace(line=line, column=column)
            for problem in single_problems(self.job)
            for line, column in [self.place_of(path_steps(problem.path))]
        )


def parse_text(
    text: str, variables: str = "", *, env: Mapping[str, str] | None = None
) -> ParsedText:
    """A job text: a job file (native or its JSON form), or a job as the API takes it.

    Raises `JobProblems` with line and column of everything that cannot be read. Rules are not
    judged; the result's `problems()` does that.
    """
    if len(text) > MAX_TEXT:
        raise JobProblems([Problem("", "job is larger than 1 MiB")], malformed=True)
    if _is_request(text):
        return _parse_request(text)
    job_file = read_job_file(text, variables, env=env)
    job = canonicalize(job_file.form)
    return ParsedText(job_file.form, job, "hcl2", job_file.warnings, job_file.place_of)


def _is_request(text: str) -> bool:
    """Whether the text is a job as the API takes it.

    The JSON form of job files says `job` in small letters.
    """
    return (
        text.lstrip().startswith("{")
        and re.match(r'\s*\{\s*"(job|variable|locals)s?"', text) is None
    )


def _parse_request(text: str) -> ParsedText:
    document, above = _unwrapped(_json(text))
    refuse_oversized(document)
    found = places(text)
    form, unknown = complete("Job", document, lambda steps: found.of((*above, *steps)))
    warnings = [
        Problem(
            path_text(steps),
            f"unknown field {path_text(steps)} is ignored",
            *found.of((*above, *steps)),
        )
        for steps in unknown
    ]
    return ParsedText(
        form, canonicalize(form), "json", tuple(warnings), lambda steps: found.of((*above, *steps))
    )


def decode_job(document: dict[str, Any] | bytes | str) -> tuple[RequestForm, tuple[str, ...]]:
    """The request form of a job document, and the paths of fields nobody knows.

    Raises `JobProblems` with every wrong type, or with the syntax error.
    """
    if isinstance(document, bytes | str):
        form, unknown = _decode_text(_text(document))
    else:
        refuse_oversized(document)
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
    document, above = _unwrapped(_json(text))
    refuse_oversized(document)
    return complete("Job", document, lambda steps: places(text).of((*above, *steps)))


def _unwrapped(document: Any) -> tuple[Any, Steps]:
    """The job of a document, and the way to it.

    The body of a request wraps the job, a file may or may not.
    """
    if isinstance(document, dict):
        for name, value in document.items():
            if name.casefold() == "job":
                return value, (name,)
    return document, ()


def _json(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_constant, object_hook=object_limit())
    except json.JSONDecodeError as error:
        problem = Problem("", f"invalid JSON: {error.msg}", error.lineno, error.colno)
        raise JobProblems([problem], malformed=True) from None
    except RecursionError:
        raise JobProblems([Problem("", "exceeded max depth")], malformed=True) from None
    except ValueError as error:
        raise JobProblems([Problem("", f"invalid JSON: {error}")], malformed=True) from None


def _no_constant(name: str) -> object:
    raise ValueError(f"invalid character in literal {name}")
