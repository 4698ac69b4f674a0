"""The form that dispatches a parameterized job, made from its rules.

In: a reader and the job; what was typed, and what is wrong with it. Out: the context of
`_job_dispatch.html`.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from django.utils.translation import gettext

from cluster.operations.job_dispatch import MAX_PAYLOAD
from cluster.store.ports import RecordReader
from dashboard.meta_fields import meta_name
from dashboard.subscription import Subscription
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job


class MetaField(msgspec.Struct, frozen=True, kw_only=True):
    """One key that may be given."""

    key: str
    name: str
    is_required: bool
    value: str
    error: str


class Typed(msgspec.Struct, frozen=True, kw_only=True):
    """The form as it was sent, and what is wrong with it."""

    meta: Mapping[str, str] = {}
    payload: str = ""
    prefix: str = ""
    priority: str = ""
    #: By field: that of `meta_name`, payload, prefix, priority; "" for what is no field's.
    errors: Mapping[str, str] = {}


def dispatch_context(job: Job, typed: Typed | None = None) -> dict[str, Any]:
    """The form; `dispatch` is None for a job that takes none."""
    rules = job.parameterized_job
    if not job.is_parameterized or rules is None:
        return {"job": job, "dispatch": None}
    sent = typed or Typed()
    keys = [(key, True) for key in rules.meta_required]
    keys += [(key, False) for key in rules.meta_optional]
    return {
        "job": job,
        "dispatch": {
            "fields": [
                MetaField(
                    key=key,
                    name=meta_name(key),
                    is_required=is_required,
                    value=sent.meta.get(key, ""),
                    error=sent.errors.get(meta_name(key), ""),
                )
                for key, is_required in keys
            ],
            "typed": sent,
            "first_wrong": next((name for name in _order(keys) if name in sent.errors), ""),
            "payload": rules.payload or "optional",
            "max_payload": MAX_PAYLOAD,
            "files": _files(job),
            "required": rules.meta_required,
            "optional": rules.meta_optional,
            "mhz": sum(
                task.resources.cpu * group.count
                for group in job.task_groups
                for task in group.tasks
            ),
            "mib": sum(
                task.resources.memory_mb * group.count
                for group in job.task_groups
                for task in group.tasks
            ),
            "count": sum(group.count for group in job.task_groups),
        },
    }


def _order(keys: Iterable[tuple[str, bool]]) -> Iterator[str]:
    """The fields as they stand on the page."""
    yield from (meta_name(key) for key, _ in keys)
    yield from ("prefix", "priority", "payload")


def dispatch_panel(
    reader: RecordReader, subscription: Subscription, _now: int
) -> Mapping[str, Any]:
    """The form again, when its rules change; what was typed is kept by the page."""
    namespace, _, job_id = subscription.key.partition("/")
    job = reader.job(JobKey(namespace, job_id))
    found = {"dispatch": None} if job is None else dispatch_context(job)
    return {"job": job, **found, "may": subscription.may}


def _files(job: Job) -> list[str]:
    """Where tasks find the payload, by the block that asks for it."""
    return [
        gettext("local/{file} of {task}").format(file=task.dispatch_payload.file, task=task.name)
        for group in job.task_groups
        for task in group.tasks
        if task.dispatch_payload is not None
    ]
