"""Evaluations: lists, one with its relatives, its allocations, its recorded life; deletion."""

from collections.abc import Mapping

import msgspec
from django.http import HttpResponse

from cluster.api.blocking_read import answer_read
from cluster.api.encode import to_plain
from cluster.api.paging import (
    ListRequest,
    Rows,
    check_uuid,
    count_of_rows,
    page_of_rows,
    read_listing_by_uuid,
)
from cluster.api.request import Call
from cluster.api.respond import Found, answer_json, answer_write, read_meta
from cluster.api.stubs import allocation_stub, evaluation_form, evaluation_stub
from cluster.api.watches import watch_row, watch_table
from cluster.operations.errors import NotAllowed, NotFound, OperationRefused
from cluster.operations.evaluations import (
    NOT_FOUND,
    delete_evaluations,
    delete_where_possible,
)
from cluster.operations.filter_expression import compile_filter
from cluster.operations.past_capsules import capsule_of
from cluster.operations.rights import require, require_management, require_reads
from cluster.operations.unblock import PATIENCE, seen_by, unblock
from cluster.store.ports import RecordReader
from scheduler.state import nouns
from scheduler.structs.evaluation import Evaluation

_LOOKUP = "eval lookup failed: "


async def list_evaluations(call: Call) -> HttpResponse:
    """GET /v1/evaluations."""
    listing, equals = _read_list(call)

    def work(reader: RecordReader) -> Found:
        rows = _rows(call, reader, equals)
        page = page_of_rows(
            reader,
            rows,
            listing,
            lambda each: evaluation_form(each, call.caller, additions=call.additions),
        )
        index = reader.table_index("evaluations")
        return Found(index=index, body=page.items, next_token=page.next_token)

    return await answer_read(call, work, watch_table("evaluations"))


async def count_evaluations(call: Call) -> HttpResponse:
    """GET /v1/evaluations/count."""
    listing, equals = _read_list(call)

    def work(reader: RecordReader) -> Found:
        rows = _rows(call, reader, equals)
        count = count_of_rows(reader, rows, listing)
        index = reader.table_index("evaluations")
        return Found(index=index, body={"Count": count} | read_meta(index))

    return await answer_read(call, work, watch_table("evaluations"))


async def delete(call: Call) -> HttpResponse:
    """DELETE /v1/evaluations: all that are named, or what may go of what a filter finds."""
    body = call.body("EvalDeleteRequest")
    eval_ids, text = body.list_of_texts("EvalIDs"), body.text("Filter")
    if eval_ids and text:
        raise OperationRefused("evals cannot be deleted by both ID and filter")
    if not eval_ids and not text:
        raise OperationRefused("evals must be deleted by either ID or filter")
    for eval_id in eval_ids:
        check_uuid(eval_id, _LOOKUP)
    if eval_ids:
        deleted = await call.write(delete_evaluations, eval_ids, ids=False)
    else:
        require_management(call.caller)
        listing, equals = _read_list(call)
        found = msgspec.structs.replace(listing, filter=compile_filter(text))
        page = await call.read(
            lambda reader: page_of_rows(reader, _rows(call, reader, equals), found, _id_of)
        )
        deleted = await call.write(delete_where_possible, page.items, ids=False)
    answer = {"Count": deleted.count, "Index": deleted.index}
    return answer_write(call.request, answer, deleted.index)


async def read_evaluation(call: Call, eval_id: str) -> HttpResponse:
    """GET /v1/evaluation/<id>, with `related` also what it is linked to."""
    check_uuid(eval_id, f"failed to lookup eval: {_LOOKUP}")
    related = call.query.get("related", "") == "true"

    def work(reader: RecordReader) -> Found:
        evaluation = _readable(call, reader, eval_id)
        if evaluation is None:
            return Found(index=reader.table_index("evaluations"), missing=NOT_FOUND)
        form = evaluation_form(evaluation, call.caller, additions=call.additions)
        if related:
            form["RelatedEvals"] = [
                evaluation_stub(each) for each in relatives(reader, evaluation)
            ]
        return Found(index=evaluation.modify_index, body=form)

    return await answer_read(call, work, watch_row("evaluations", eval_id), short=not related)


async def evaluation_allocations(call: Call, eval_id: str) -> HttpResponse:
    """GET /v1/evaluation/<id>/allocations."""
    call.require("read-job")

    def work(reader: RecordReader) -> Found:
        stubs = [
            allocation_stub(alloc)
            for alloc in reader.allocations_by_eval(eval_id)
            if call.allows(alloc.namespace, "read-job")
        ]
        return Found(index=reader.table_index("allocations"), body=stubs)

    return await answer_read(call, work, watch_row("allocations", eval_id), short=True)


async def evaluation_lifecycle(call: Call, eval_id: str) -> HttpResponse:
    """GET /v1/evaluation/<id>/lifecycle: the recorded steps, oldest first."""
    check_uuid(eval_id, f"failed to lookup eval: {_LOOKUP}")

    def work(reader: RecordReader) -> Found:
        evaluation = _readable(call, reader, eval_id)
        if evaluation is None:
            return Found(index=reader.table_index("evaluations"), missing=NOT_FOUND)
        steps = reader.lifecycle(eval_id)
        index = max([evaluation.modify_index, *(step.index for step in steps)])
        return Found(index=index, body=[to_plain(step) for step in steps])

    watches = (watch_row("evaluations", eval_id), watch_row("lifecycle", eval_id))
    return await answer_read(call, work, *watches)


async def evaluation_explanation(call: Call, eval_id: str) -> HttpResponse:
    """GET /v1/evaluation/<id>/explanation: why nodes were not chosen; with `group` of one group.

    An evaluation that asked for no node, or is not among its job's newest, has an empty list.
    """
    check_uuid(eval_id, f"failed to lookup eval: {_LOOKUP}")
    wanted = call.query.get("group", "")

    def work(reader: RecordReader) -> Found:
        evaluation = _readable(call, reader, eval_id)
        if evaluation is None:
            return Found(index=reader.table_index("evaluations"), missing=NOT_FOUND)
        body = [
            to_plain(stored.group)
            for stored in reader.explanations(eval_id)
            if wanted in {"", stored.task_group}
        ]
        return Found(index=evaluation.modify_index, body=body)

    return await answer_read(call, work, watch_row("evaluations", eval_id))


async def evaluation_unblock(call: Call, eval_id: str) -> HttpResponse:
    """GET /v1/evaluation/<id>/unblock: which single changes would let a `group` be placed.

    The real scheduler confirms each; what time was too short for is counted.
    """
    check_uuid(eval_id, f"failed to lookup eval: {_LOOKUP}")
    clock = call.request.clock  # type: ignore[attr-defined]  # set by the middleware

    def work(reader: RecordReader) -> Mapping[str, object]:
        evaluation = _readable(call, reader, eval_id)
        require_reads(call.caller, "node")
        if evaluation is None:
            raise NotFound(NOT_FOUND)
        waiting = evaluation.failed_task_groups
        group = call.query.get("group", "") or next(iter(waiting), "")
        until = clock.now() + PATIENCE
        found = unblock(
            reader,
            evaluation.job_key,
            group,
            now=call.now,
            is_late=lambda: clock.now() > until,
        )
        told = seen_by(found, reader, lambda namespace: call.allows(namespace, "read-job"))
        return {"Group": group} | to_plain(told)

    return answer_json(call.request, await call.read(work))


async def evaluation_capsule(call: Call, eval_id: str) -> HttpResponse:
    """GET /v1/evaluation/<id>/capsule: all that its scheduler saw, to be decided again offline.

    A scheduler sees every namespace, so the caller must.
    """
    check_uuid(eval_id, f"failed to lookup eval: {_LOOKUP}")
    if not call.caller.access.allows_everywhere("read-job"):
        raise NotAllowed(missing="read-job in every namespace")

    def work(reader: RecordReader) -> Found:
        evaluation = reader.evaluation(eval_id)
        if evaluation is None:
            return Found(index=reader.table_index("evaluations"), missing=NOT_FOUND)
        return Found(index=evaluation.modify_index, body=capsule_of(reader, evaluation))

    return await answer_read(call, work, watch_row("evaluations", eval_id))


def relatives(reader: RecordReader, start: Evaluation) -> list[Evaluation]:
    """Every evaluation that next, previous and blocked links lead to, nearest first."""
    found: dict[str, Evaluation] = {start.id: start}
    waiting = [start]
    while waiting:
        each = waiting.pop(0)
        for eval_id in (each.next_eval, each.previous_eval, each.blocked_eval):
            if eval_id and eval_id not in found:
                linked = reader.evaluation(eval_id)
                if linked is not None:
                    found[eval_id] = linked
                    waiting.append(linked)
    del found[start.id]
    return list(found.values())


def _read_list(call: Call) -> tuple[ListRequest, dict[str, str]]:
    call.require("read-job")
    asked = {"job_id": call.query.get("job", ""), "status": call.query.get("status", "")}
    equals = {column: value for column, value in asked.items() if value}
    if equals and call.query.get("filter", ""):
        raise OperationRefused("Filter expression cannot be used with other filter parameters")
    return read_listing_by_uuid(call.query, _LOOKUP), equals


def _rows(call: Call, reader: RecordReader, equals: dict[str, str]) -> Rows:
    namespaces = call.listed(reader, "read-job")
    return Rows(noun=nouns.EVALUATIONS, namespaces=namespaces, equals=equals)


def _id_of(evaluation: Evaluation) -> str:
    return evaluation.id


def _readable(call: Call, reader: RecordReader, eval_id: str) -> Evaluation | None:
    """The evaluation; refuses callers who may not read it, or not where they ask for it."""
    evaluation = reader.evaluation(eval_id)
    namespace = call.namespace if evaluation is None else evaluation.namespace
    require(call.caller, namespace, "read-job")
    return evaluation
