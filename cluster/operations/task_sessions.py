"""Sessions of people inside tasks: who may open one, what runs in it, what the audit keeps of it.

In: what a caller asks for, and what it types. Out: frames as they come, or `OperationRefused`.
Nothing that is typed or shown in a session is kept anywhere.
"""

import shlex
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import NamedTuple

from django.conf import settings

from cluster.operations.agent_calls import EXEC, send_call
from cluster.operations.audit import note_done, note_not_done
from cluster.operations.errors import NotFound, OperationRefused
from cluster.operations.rights import require
from cluster.operations.session_frames import exit_code_of
from cluster.store.access import the_store
from cluster.store.audit_entries import Act, actor_of
from scheduler.access.caller import Caller
from scheduler.ports import StateReader
from scheduler.structs.allocation import Allocation
from scheduler.structs.task_group import Task

RIGHT = "alloc-exec"
#: Asked as well where the task has the host's files and processes around it.
RIGHT_ON_NODE = "alloc-node-exec"
_SECOND = 1_000_000_000


class SessionWish(NamedTuple):
    """What a caller asks for."""

    alloc_id: str
    task: str
    command: tuple[str, ...] = ()
    tty: bool = False
    #: Run the command of this action instead.
    action: str = ""
    #: The job and namespace that the allocation is said to be of; "": not said.
    job_id: str = ""
    namespace: str = ""


class SessionOrder(NamedTuple):
    """What may be run, and where."""

    alloc: Allocation
    task: str
    command: tuple[str, ...]
    tty: bool
    action: str = ""
    #: An empty frame comes first, once the command runs.
    tells_begin: bool = False


def require_session(by: Caller, namespace: str, task: Task | None = None) -> None:
    """Refuse unless the caller may run commands inside tasks of a namespace, or this one."""
    require(by, namespace, RIGHT)
    if task is not None and has_host_around(task):
        require(by, namespace, RIGHT_ON_NODE)


def has_host_around(task: Task) -> bool:
    """Whether a session in it sees files and processes of its machine: it asks for more."""
    return task.driver in settings.BIVOUAC_PRIVILEGED_DRIVERS


def session_order(reader: StateReader, wish: SessionWish, by: Caller) -> SessionOrder:
    """What may be run. Raises OperationRefused in the order of node-agent-2.md 6.1."""
    if not wish.alloc_id:
        raise OperationRefused("missing AllocID")
    alloc = reader.allocation(wish.alloc_id)
    if alloc is None:
        raise NotFound(f'Unknown allocation "{wish.alloc_id}"')
    require_session(by, alloc.namespace)
    if wish.job_id and (wish.job_id, wish.namespace) != (alloc.job_id, alloc.namespace):
        raise OperationRefused(f"job {wish.job_id} does not have allocation {alloc.id}")
    if not wish.task:
        raise OperationRefused("must provide task name")
    task = _task_of(reader, alloc, wish)
    require_session(by, alloc.namespace, task)
    command = wish.command
    if wish.action:
        found = next((each for each in task.actions if each.name == wish.action), None)
        if found is None:
            raise OperationRefused(f"action {wish.action} not found in task {wish.task}")
        command = (found.command, *found.args)
    if not command or not command[0]:
        raise OperationRefused("command is not present")
    return SessionOrder(alloc, wish.task, command, wish.tty, wish.action)


def _task_of(reader: StateReader, alloc: Allocation, wish: SessionWish) -> Task:
    job = reader.job_of(alloc)
    group = None if job is None else job.task_group(alloc.task_group)
    task = None if group is None else group.task(wish.task)
    if task is None and wish.action:
        raise OperationRefused(f"task {wish.task} not found in allocation {alloc.id}")
    if task is None:
        raise OperationRefused(f'unknown task name "{wish.task}"')
    return task


def act_of(wish: SessionWish, namespace: str = "") -> Act:
    """What is asked for, as the audit tells it."""
    what = f"action {wish.action}" if wish.action else shlex.join(wish.command)
    words = "run action" if wish.action else "run command"
    return Act(words, "allocation", wish.alloc_id, namespace, f"in task {wish.task}: {what}")


async def run_session(
    order: SessionOrder, given: AsyncIterator[bytes], *, by: Caller, now: Callable[[], int]
) -> AsyncIterator[bytes]:
    """The frames of a session; close the iterator to end it.

    `now` is the wall clock, ns. The audit has a line when it begins and one when it ends, with how
    long it took and how.
    """
    alloc, store = order.alloc, the_store()
    wish = SessionWish(alloc.id, order.task, order.command, order.tty, order.action)
    act, who = act_of(wish, alloc.namespace), actor_of(by)
    body: dict[str, object] = {
        "AllocID": alloc.id, "Task": order.task, "Command": list(order.command),
        "Tty": order.tty, "TellsBegin": order.tells_begin,
    }  # fmt: skip
    began = now()
    note_done(store, who, act, at=began)
    how = "broken off"
    try:
        frames = send_call(alloc.node_id, EXEC, body, given)
        async with aclosing(frames) as session:  # type: ignore[type-var] # a generator
            async for frame in session:
                code = exit_code_of(frame)
                how = how if code is None else f"exit code {code}"
                yield frame
    except OperationRefused as refused:
        note_not_done(store, who, act, refused, at=now())
        how = ""
        raise
    finally:
        if how:
            seconds = (now() - began) / _SECOND
            told = act._replace(
                words=f"end {act.words.removeprefix('run ')}",
                detail=f"{how} after {seconds:.1f} s {act.detail}",
            )
            note_done(store, who, told, at=now())
