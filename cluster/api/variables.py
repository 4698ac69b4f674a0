"""Variables (doors.md 9): lists, one, writes with `cas`, and the three verbs of locks.

In: a path and a body. Out: the variable with its items in clear, for who may read them. What a
list shows of one, and what the event stream tells, is without them.
"""

from collections.abc import Callable, Coroutine
from typing import Any

from django.http import HttpResponse

from cluster.api.blocking_read import answer_read
from cluster.api.body import EMPTY, Body
from cluster.api.encode import to_plain
from cluster.api.paging import Order, page_of, read_listing
from cluster.api.parameters import quoted, unsigned
from cluster.api.request import Call
from cluster.api.respond import INDEX, Found, answer_empty, answer_json, answer_write, refusal
from cluster.api.watches import watch_row, watch_table
from cluster.operations.errors import OperationRefused
from cluster.operations.variable_locks import acquire_lock, release_lock, renew_lock
from cluster.operations.variables import (
    NOT_FOUND,
    Locked,
    NotAsExpected,
    OpenedVariable,
    delete_variable,
    put_variable,
    read_variable,
    require_variable,
)
from cluster.store.ports import RecordReader
from scheduler.access.access import EVERY_NAMESPACE
from scheduler.state.noun import event_key
from scheduler.state.variable_nouns import VARIABLES
from scheduler.structs.variable import SealedVariable

_TABLE = VARIABLES.table_index
_TEXT = "text/plain; charset=utf-8"
_BY_PLACE = Order(
    position=lambda variable: variable.key,
    read=lambda token: tuple(token.partition(".")[::2]),
    write=".".join,
)

_Answering = Callable[[Call, str], Coroutine[Any, Any, HttpResponse]]


async def list_variables(call: Call) -> HttpResponse:
    """GET /v1/vars: those that the caller may list, by namespace and path."""
    listing = read_listing(call.query)
    sees_locks = call.caller.access.is_management

    def work(reader: RecordReader) -> Found:
        wanted = (
            variable
            for variable in variables_of(reader, call.namespace)
            if variable.path.startswith(listing.prefix)
            and call.caller.access.allows_variable(*variable.key, "list")
        )
        page = page_of(wanted, listing, _BY_PLACE)
        return Found(
            index=reader.table_index(_TABLE),
            body=[variable_form(each, with_lock=sees_locks) for each in page.items],
            next_token=page.next_token,
        )

    return await answer_read(call, work, watch_table(_TABLE))


def variables_of(reader: RecordReader, namespace: str) -> list[SealedVariable]:
    """Those of a namespace; `*`: all of them."""
    if namespace == EVERY_NAMESPACE:
        return list(reader.list_all(VARIABLES))
    return list(reader.list_by(VARIABLES, "namespace", namespace))


async def read_one(call: Call, path: str) -> HttpResponse:
    """GET /v1/var/<path>."""
    _require_path(path)
    require_variable(call.caller, call.namespace, path, "read")

    def work(reader: RecordReader) -> Found:
        told = read_variable(reader, call.namespace, path, by=call.caller)
        if told is None:
            return Found(index=reader.table_index(_TABLE), missing=NOT_FOUND)
        form = told_form(told, with_lock=call.caller.access.is_management)
        return Found(index=told.variable.modify_index, body=form)

    return await answer_read(call, work, watch_row(_TABLE, event_key((call.namespace, path))))


async def write_one(call: Call, path: str) -> HttpResponse:
    """PUT /v1/var/<path>, also with `lock-acquire`, `lock-renew` or `lock-release`."""
    _require_path(path)
    verbs = [verb for verb in _VERBS if verb in call.query]
    if len(verbs) > 1:
        raise OperationRefused("multiple lock operations")
    if verbs and "cas" in call.query:
        raise OperationRefused("CAS can't be used with lock operations")
    try:
        return await (_VERBS[verbs[0]] if verbs else _put)(call, path)
    except NotAsExpected as other:
        return _unexpected(call, other)
    except Locked as locked:
        namespace, path = locked.place
        zeros = told_form(OpenedVariable(variable=SealedVariable(namespace=namespace, path=path)))
        return _conflict(call, zeros)


async def remove_one(call: Call, path: str) -> HttpResponse:
    """DELETE /v1/var/<path>."""
    _require_path(path)
    require_variable(call.caller, call.namespace, path, "destroy")
    try:
        index = await call.write(delete_variable, call.namespace, path, cas=_cas(call), ids=False)
    except NotAsExpected as other:
        return _unexpected(call, other)
    except Locked as locked:
        namespace, path = locked.place
        zeros = told_form(OpenedVariable(variable=SealedVariable(namespace=namespace, path=path)))
        return _conflict(call, zeros)
    response = answer_empty(204)
    response[INDEX] = str(index)
    return response


async def no_method(call: Call, path: str) -> HttpResponse:
    """Other methods, which the reference answers so here."""
    require_variable(call.caller, call.namespace, path, "write")
    return refusal(400, "Invalid method")


def variable_form(variable: SealedVariable, *, with_lock: bool = False) -> dict[str, Any]:
    """What is told of a variable without its items."""
    form = to_plain(variable)
    lock = form.pop("Lock", None)
    if with_lock and variable.lock is not None:
        form["Lock"] = lock
    return form


def told_form(told: OpenedVariable, *, with_lock: bool = False) -> dict[str, Any]:
    """A variable with its items; without them where they are not to be seen."""
    form = variable_form(told.variable, with_lock=with_lock)
    if told.items is not None or not told.variable.create_index:
        form["Items"] = told.items
    return form


async def _put(call: Call, path: str) -> HttpResponse:
    cas = _cas(call)
    namespace, body = _asked(call, path)
    lock = body.nested("Lock")
    if lock is not None and (lock.duration("TTL") or lock.duration("LockDelay")):
        raise OperationRefused("variable should not contain lock definition")
    lock_id = lock.text("ID") if lock is not None else ""
    index, told = await call.write(
        put_variable,
        namespace,
        path,
        body.texts("Items"),
        cas=cas,
        lock_id=lock_id,
        ids=False,
    )
    return answer_write(call.request, told_form(told, with_lock=bool(lock_id)), index)


async def _acquire(call: Call, path: str) -> HttpResponse:
    namespace, body, lock = _lock_asked(call, path)
    index, told = await call.write(
        acquire_lock,
        namespace,
        path,
        ttl=lock.duration("TTL"),
        lock_delay=lock.duration("LockDelay"),
        lock_id=lock.text("ID"),
        items=body.texts("Items") if body.has("Items") else None,
    )
    return answer_write(call.request, told_form(told, with_lock=True), index)


async def _renew(call: Call, path: str) -> HttpResponse:
    namespace, _, lock = _lock_asked(call, path)
    _, told = await call.write(renew_lock, namespace, path, lock.text("ID"), ids=False)
    return answer_json(call.request, variable_form(told.variable, with_lock=True))


async def _release(call: Call, path: str) -> HttpResponse:
    namespace, body, lock = _lock_asked(call, path)
    if body.texts("Items"):
        raise OperationRefused("lock release operation doesn't take variable items")
    index, told = await call.write(release_lock, namespace, path, lock.text("ID"), ids=False)
    return answer_write(call.request, told_form(told), index)


_VERBS: dict[str, _Answering] = {
    "lock-acquire": _acquire,
    "lock-renew": _renew,
    "lock-release": _release,
}


def _asked(call: Call, path: str) -> tuple[str, Body]:
    """The namespace and what is sent; whoever may not write there is told nothing else."""
    body = call.optional_body("VariableDecrypted")
    namespace = body.text("Namespace") or call.namespace
    require_variable(call.caller, namespace, path, "write")
    if not call.raw_body.strip():
        raise OperationRefused(EMPTY)
    return namespace, body


def _lock_asked(call: Call, path: str) -> tuple[str, Body, Body]:
    namespace, body = _asked(call, path)
    lock = body.nested("Lock")
    if lock is None:
        raise OperationRefused("missing lock information")
    return namespace, body, lock


def _require_path(path: str) -> None:
    if not path:
        raise OperationRefused("missing variable path")


def _cas(call: Call) -> int | None:
    text = call.query.get("cas")
    if text is None:
        return None
    cas = unsigned(text)
    if cas is None:
        raise OperationRefused(
            f"can not parse cas: strconv.ParseUint: parsing {quoted(text[:64])}: invalid syntax"
        )
    return cas


def _unexpected(call: Call, other: NotAsExpected) -> HttpResponse:
    response = _conflict(call, told_form(other.found))
    response[INDEX] = str(other.found.variable.modify_index)
    return response


def _conflict(call: Call, form: dict[str, Any]) -> HttpResponse:
    response = answer_json(call.request, form, status=409)
    response["Content-Type"] = _TEXT
    return response
