"""The templates of a start as they are to be rendered: paths and `${...}` settled.

In: a task's templates, its launch. Out: orders, and what each change asks for. Touches no file.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from msgspec.structs import replace

from cluster.agent.alloc_directories import place_in
from cluster.agent.drivers.driver import HookFailed, Launch, StartError, TaskDirectories
from cluster.agent.restarts import Ending
from cluster.agent.templates.render_order import RenderOrder, TemplateOrder
from cluster.agent.templates.task_templates import Wanted
from scheduler.structs.task_group import ChangeScript, Template
from scheduler.structs.wire import Duration

_SECOND = 1_000_000_000
#: Of a template without its own `wait`, in seconds.
_QUIET_S, _PATIENCE_S = 5.0, 240.0


class TemplateFailed(StartError):
    """The templates cannot be rendered: the task has failed, and no restart would help."""

    def as_ending(self) -> Ending:
        return Ending(start_error=f"Template failed: {self}", failed_template=True)


class TemplateSet(NamedTuple):
    """What a task's templates come to on this node."""

    order: RenderOrder
    wanted: tuple[Wanted, ...]


def template_set(
    templates: Iterable[Template],
    launch: Launch,
    fill_in: Callable[[str], str],
    *,
    namespace: str,
    region: str,
    now: int,
) -> TemplateSet:
    """The orders for a start. Raises HookFailed for a path that leads out."""
    assert launch.directories is not None, "a simulated task has no files"
    root = launch.directories.root
    kept = tuple(templates)
    order = RenderOrder(
        templates=tuple(
            TemplateOrder(
                source=_place(launch.directories, fill_in(each.source_path), "source")
                if each.source_path
                else "",
                text=each.embedded_tmpl,
                destination=_place(launch.directories, fill_in(each.dest_path), "destination"),
                mode=int(each.perms or "0644", 8),
                uid=-1 if each.uid is None else each.uid,
                gid=-1 if each.gid is None else each.gid,
                delimiters=(each.left_delim or "{{", each.right_delim or "}}"),
                is_env=each.envvars,
                fails_on_missing_key=each.err_missing_key,
            )
            for each in kept
        ),
        env=launch.env,
        bounds=str(root.parent),
        task_root=str(root),
        namespace=namespace,
        region=region,
        now=now / _SECOND,
    )
    return TemplateSet(order, tuple(_wanted(each, fill_in) for each in kept))


def _wanted(template: Template, fill_in: Callable[[str], str]) -> Wanted:
    wait = template.wait
    mode = template.change_mode or "restart"
    return Wanted(
        change_mode=mode,
        change_signal=(template.change_signal or "SIGHUP").upper() if mode == "signal" else "",
        splay_s=template.splay / _SECOND,
        is_once=template.once,
        quiet_s=_seconds(wait.min if wait else None, _QUIET_S),
        patience_s=_seconds(wait.max if wait else None, _PATIENCE_S),
        script=_script(template.change_script, fill_in) if mode == "script" else None,
    )


def _script(script: ChangeScript | None, fill_in: Callable[[str], str]) -> ChangeScript | None:
    if script is None:
        return None
    args = tuple(map(fill_in, script.args))
    return replace(script, command=fill_in(script.command), args=args)


def _seconds(span: Duration | None, otherwise: float) -> float:
    return otherwise if span is None else span / _SECOND


def _place(directories: TaskDirectories, path: str, what: str) -> str:
    place = place_in(directories, path)
    if place is None:
        raise HookFailed(f"template: template {what} path escapes alloc directory")
    return str(place)
