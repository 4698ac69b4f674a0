"""Decide a capsule: an evaluation with everything its scheduler sees, as one document.

In: a decoded JSON document. Out: the decision. Jobs may leave open what a registration fills in;
they get the same defaults here. Reads and writes no record.
"""

from collections.abc import Mapping

from cluster.jobspec.canonicalize import canonicalize_form
from cluster.jobspec.parse import decode_job
from cluster.jobspec.problems import JobProblems
from scheduler.engine.capsule import CapsuleError, Document, evaluate_capsule, read_capsule
from scheduler.ports import PatternMatcher
from scheduler.structs.wire import without_nulls


def decide_capsule(document: object, matcher: PatternMatcher) -> Document:
    """The decision for a capsule. Raises CapsuleError with the path of a fault."""
    # Read as it stands first, so that a fault is named by its place in the given document.
    read_capsule(document)
    assert isinstance(document, Mapping), "read_capsule() refuses anything but an object"
    jobs = [_canonical(job, at) for at, job in enumerate(document.get("Jobs") or ())]
    return evaluate_capsule(read_capsule({**document, "Jobs": jobs}), matcher)


def _canonical(job: dict[str, object], at: int) -> dict[str, object]:
    """The job with the defaults of a request, and what only a server writes left as it is."""
    try:
        form, _ = decode_job(job)
    except JobProblems as problems:
        raise CapsuleError(f"$.Jobs[{at}]", str(problems)) from problems
    filled = without_nulls(canonicalize_form(form))
    assert isinstance(filled, dict), "a form is an object"
    return {**job, **filled, **{name: job[name] for name in _OF_SERVER & job.keys()}}


#: Fields a request cannot set.
_OF_SERVER = frozenset(
    {
        "Stop",
        "ParentID",
        "Payload",
        "Dispatched",
        "Status",
        "StatusDescription",
        "Stable",
        "Version",
        "VersionTag",
        "SubmitTime",
        "CreateIndex",
        "ModifyIndex",
        "JobModifyIndex",
    }
)
