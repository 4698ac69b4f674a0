"""A whole job file into a job request.

In: HCL or HCL-JSON text, values for its variables, an environment. Out: a request form and
warnings, or `JobProblems` with everything wrong and where.
"""

import json
from collections.abc import Mapping
from typing import NamedTuple

from cluster.jobspec.hcl import syntax
from cluster.jobspec.hcl.decode import Unfolded, decode_block
from cluster.jobspec.hcl.json_body import JsonBody, as_body, json_body
from cluster.jobspec.hcl.nearest import nearest
from cluster.jobspec.hcl.parser import parse_body, parse_expression
from cluster.jobspec.hcl.schema import SCHEMAS, Schema, SchemaEntry
from cluster.jobspec.hcl.scope import Scope
from cluster.jobspec.hcl.source import Source
from cluster.jobspec.hcl.variables import Variables
from cluster.jobspec.limits import object_limit, refuse_oversized
from cluster.jobspec.problems import JobProblems, Problem
from cluster.jobspec.request_form import Place, RequestForm, Steps

#: The longest text taken, as for any job.
MAX_TEXT = 1 << 20
#: Lines cost time each, however short.
MAX_LINES = 50_000

_TOP = Schema(
    "file",
    "",
    many={
        "job": SchemaEntry("job", "", "job"),
        "variable": SchemaEntry("variable", "", "variable"),
        "variables": SchemaEntry("variables", "", ""),
        "locals": SchemaEntry("locals", "", ""),
    },
)


class JobFile(NamedTuple):
    """What a job file says, and the text it was read from."""

    form: RequestForm
    warnings: tuple[Problem, ...]
    source: Source

    def place_of(self, steps: Steps) -> Place:
        """Line and column of the innermost block or attribute on the way to a field."""
        value: object = self.form
        offset = self.source.offsets.get((id(value), ""))
        for step in steps:
            if isinstance(value, dict):
                offset = self.source.offsets.get((id(value), str(step)), offset)
                value = value.get(str(step))
            elif isinstance(value, list) and isinstance(step, int) and step < len(value):
                value = value[step]
            else:
                break
            offset = self.source.offsets.get((id(value), ""), offset)
        return (None, None) if offset is None else self.source.place(offset)


def parse_hcl(
    text: str, variables: str = "", *, env: Mapping[str, str] | None = None
) -> tuple[RequestForm, tuple[Problem, ...]]:
    """The request form of a job file and its warnings. Raises `JobProblems`.

    `variables` are values as a file of them gives; `env` may give more as `NOMAD_VAR_<name>`.
    """
    job_file = read_job_file(text, variables, env=env)
    return job_file.form, job_file.warnings


def read_job_file(
    text: str, variables: str = "", *, env: Mapping[str, str] | None = None
) -> JobFile:
    """As `parse_hcl`, with the places of what was read."""
    if len(text) > MAX_TEXT or len(variables) > MAX_TEXT:
        raise JobProblems([Problem("", "job file is larger than 1 MiB")], malformed=True)
    if text.count("\n") > MAX_LINES or variables.count("\n") > MAX_LINES:
        problem = Problem("", f"job file has more than {MAX_LINES} lines")
        raise JobProblems([problem], malformed=True)
    source = Source(text)
    body = _read(source)
    values = _read_values(variables)
    scope = Scope(source)
    names = Variables(source, scope)
    jobs = _declare(body, names, source)
    names.assign(env or {}, values)
    if values is not None:
        values[0].refuse_if_any()
    form: RequestForm = {}
    for job in jobs[:1]:
        form = decode_block(SCHEMAS["job"], Unfolded(job, job.labels, job.body, scope))
    source.refuse_if_any()
    return JobFile(form, tuple(names.warnings), source)


def _read(source: Source) -> syntax.BlockBody:
    if source.text.lstrip(" ").startswith("{"):
        return as_body(_read_json(source), _TOP)
    return parse_body(source)


def _read_json(source: Source) -> JsonBody:
    try:
        refuse_oversized(json.loads(source.text, object_hook=object_limit()))
    except json.JSONDecodeError as error:
        message = f"{source.name}:{error.lineno},{error.colno}: Invalid JSON; {error.msg}"
        problem = Problem("", message, error.lineno, error.colno)
        raise JobProblems([problem], malformed=True) from None
    except (RecursionError, ValueError):
        raise JobProblems([Problem("", "exceeded max depth")], malformed=True) from None
    node = parse_expression(source, is_json=True)
    if not isinstance(node, syntax.Object):
        source.note(node.start, node.end, "Invalid JSON", "A job file is an object.")
        source.refuse_if_any()
        raise AssertionError("a noted problem is raised")
    return json_body(node, source)


def _read_values(text: str) -> tuple[Source, syntax.BlockBody] | None:
    if not text.strip():
        return None
    source = Source(text)
    try:
        if text.lstrip(" ").startswith("{"):
            members = _read_json(source)
            body = syntax.BlockBody(0, len(text), attributes=dict(members.attributes))
        else:
            body = parse_body(source)
    except JobProblems as problems:
        named = [
            each._replace(message=f"unable to parse var content: {each.message}")
            for each in problems.problems
        ]
        raise JobProblems(named, malformed=True) from None
    return source, body


def _declare(body: syntax.BlockBody, names: Variables, source: Source) -> list[syntax.Block]:
    """Hand declarations over; the job blocks that stand beside them."""
    jobs: list[syntax.Block] = []
    for attribute in body.attributes.values():
        detail = f'An argument named "{attribute.name}" is not expected here.'
        source.note(attribute.start, attribute.name_end, "Unsupported argument", detail)
    for block in body.blocks:
        if block.type == "variable":
            names.declare(block)
        elif block.type == "variables":
            names.declare_plain(block)
        elif block.type == "locals":
            names.define_locals(block)
        elif block.type == "job":
            jobs.append(block)
        else:
            detail = f'Blocks of type "{block.type}" are not expected here.'
            detail += nearest(block.type, _TOP.many)
            source.note(block.start, block.type_end, "Unsupported block type", detail)
    _check_jobs(jobs, source)
    return jobs


def _check_jobs(jobs: list[syntax.Block], source: Source) -> None:
    if not jobs and not source.problems:
        source.note_somewhere("Missing job block", "A job block is required.")
    for job in jobs[1:]:
        line, column = source.place(jobs[0].start)
        detail = (
            f"Only one job block is allowed. Another was defined at {source.name}:{line},{column}."
        )
        source.note(job.start, job.type_end, "Duplicate job block", detail)
    for job in jobs[:1]:
        if len(job.labels) != 1:
            detail = "All job blocks must have 1 labels (name)."
            source.note(job.head_end, job.head_end + 1, "Missing name for job", detail)
