"""The process that renders the templates of a task: `python -m cluster.agent.templates.worker`.

In: a `RenderOrder` as JSON on its standard input. Out: a list of `Rendering`, one for each
template, on its standard output. It reads and writes in the allocation's directory alone, ends
with the agent, and may use so much memory and time; a template's author is not trusted with more.
"""

import ctypes
import os
import resource
import signal
import sys
import sysconfig
from pathlib import Path

import msgspec
from gotpl import ExecutionBudget, Template, TemplateError

from cluster.agent.artifacts import landlock
from cluster.agent.own_places import LeadsOut, open_file, put_here, reading, way
from cluster.agent.templates.env_file import read_env
from cluster.agent.templates.functions import Lookups, functions_of
from cluster.agent.templates.render_order import Rendering, RenderOrder, TemplateOrder

_END_WITH_PARENT = 1
_MOST_MEMORY = 1024 * 1024 * 1024
#: Seconds of the processor.
_MOST_SECONDS = 30
_BUDGET = ExecutionBudget(
    max_output_chars=32_000_000,
    max_iterations=1_000_000,
    max_template_depth=200,
    max_function_calls=1_000_000,
)
_SYSTEM = ("/usr", "/lib", "/lib64", "/etc/localtime", "/dev/urandom")


def main() -> int:
    """Render what standard input says."""
    ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGKILL)
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (_MOST_SECONDS, _MOST_SECONDS))
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=RenderOrder)
    _stay_within(order)
    sys.stdout.buffer.write(msgspec.json.encode([rendered(order, t) for t in order.templates]))
    return 0


def rendered(order: RenderOrder, template: TemplateOrder) -> Rendering:
    """The template's file brought up to date, where everything it needs is known."""
    lookups = Lookups(order)
    error, env, changed = "", {}, False
    try:
        text = _text(order, template, lookups)
        if not (lookups.needs or lookups.missing):
            if template.is_env:
                env = _env(template, text)
            changed = _write(order, template, text)
    except (TemplateError, ValueError, RecursionError, MemoryError) as problem:
        error = str(problem) or type(problem).__name__
    except OSError as problem:
        error = f"{problem.strerror or problem}: {problem.filename or template.destination}"
    return Rendering(
        uses=tuple(lookups.uses),
        needs=tuple(lookups.needs),
        missing=tuple(lookups.missing),
        # What is not known yet renders as nothing, which may be what went wrong.
        error="" if lookups.needs or lookups.missing else error,
        changed=changed,
        env=env,
    )


def _text(order: RenderOrder, template: TemplateOrder, lookups: Lookups) -> str:
    text = template.text
    if template.source:
        try:
            with reading(Path(order.bounds), Path(template.source)) as file:
                text = file.read()
        except LeadsOut as problem:
            raise ValueError("template source path escapes alloc directory") from problem
    made = Template(
        text,
        name="",
        delimiters=template.delimiters,
        functions=functions_of(order, lookups),
        missing_key="error" if template.fails_on_missing_key else "default",
        budget=_BUDGET,
    )
    return made.render({})


def _env(template: TemplateOrder, text: str) -> dict[str, str]:
    try:
        return read_env(text)
    except ValueError as problem:
        raise ValueError(
            "Template failed to read environment variables: error parsing env template"
            f' "{template.destination}": {problem}'
        ) from problem


def _write(order: RenderOrder, template: TemplateOrder, text: str) -> bool:
    """Whether the file was not so already. It is replaced at once, never half written."""
    place, content = Path(template.destination), text.encode()
    is_given = os.geteuid() == 0 and (template.uid, template.gid) != (-1, -1)
    owner = (template.uid, template.gid) if is_given else None
    try:
        with way(Path(order.bounds), place.parent) as opened:
            if _holds(opened, place.name, content):
                return False
            put_here(opened, place.name, content, mode=template.mode, owner=owner)
    except LeadsOut as problem:
        raise ValueError("template destination path escapes alloc directory") from problem
    return True


def _holds(place: int, name: str, content: bytes) -> bool:
    opened = open_file(place, name)
    if opened is None:
        return False
    with os.fdopen(opened, "rb") as file:
        return file.read(len(content) + 1) == content


def _stay_within(order: RenderOrder) -> None:
    paths = sysconfig.get_paths()
    reading = [*map(Path, _SYSTEM), *(Path(paths[name]) for name in ("stdlib", "purelib"))]
    code = Path(__file__).resolve().parents[3]
    reading += [Path(sys.prefix), Path(sys.base_prefix), code / "cluster", code / "scheduler"]
    landlock.keep_to(reading=reading, writing=[Path(order.bounds)])


if __name__ == "__main__":
    sys.exit(main())
