"""What doors tell the audit: refusals and failures as they answer them, and acts without a write.

In: who, what, and the exception that a door caught. Out: an entry in the record within a second.
Reasons are words of ours for kinds of exceptions: texts of refusals quote what was sent.
"""

from collections.abc import Iterable

from cluster.jobspec.problems import JobProblems
from cluster.operations.admission import JobMovedOn, JobRefused
from cluster.operations.errors import Conflict, NotAllowed, NotFound, OperationRefused, TooLarge
from cluster.presented_secrets import hidden
from cluster.store import faults
from cluster.store.access import StoreAccess
from cluster.store.audit_entries import DONE, FAILED, REFUSED, Act, Actor, entry_of
from scheduler.errors import IllegalTransition

_REASONS: tuple[tuple[type[Exception], str], ...] = (
    (NotAllowed, "not allowed"),
    (NotFound, "it does not exist"),
    (TooLarge, "more was sent than is ever taken"),
    (JobMovedOn, "the job changed since it was looked at"),
    (Conflict, "it cannot follow what is"),
    (IllegalTransition, "it cannot follow what is"),
    (OperationRefused, "the request was not valid"),
)


def note_done(store: StoreAccess, who: Actor, act: Act, *, at: int) -> None:
    """Tell of an act that was done and that no write of the record carries."""
    store.audit.note(entry_of(who, act, DONE, at=at))


def note_refused(
    store: StoreAccess, who: Actor, act: Act, reason: str, *, at: int, missing: str = ""
) -> None:
    """Tell of an act that a door refused, with a reason in words of ours."""
    store.audit.note(entry_of(who, act, REFUSED, at=at, reason=reason, missing_right=missing))


def note_not_done(
    store: StoreAccess,
    who: Actor,
    act: Act,
    error: BaseException,
    *,
    at: int,
    secrets: Iterable[str] = (),
) -> None:
    """Tell of an act that ended with an exception: a refusal, or a failure of ours.

    The missing right may name what was sent, so `secrets` that were shown are taken out of it.
    """
    reason = reason_of(error)
    result = REFUSED if reason else FAILED
    missing = hidden(str(getattr(error, "missing", "")), secrets)
    is_late = isinstance(error, TimeoutError)
    fault = "no answer came in time" if is_late else "a fault of the server"
    told = reason or faults.reason_of(error) or fault
    store.audit.note(entry_of(who, act, result, at=at, reason=told, missing_right=missing))


def reason_of(error: BaseException) -> str:
    """Why an act was refused; "" for what is no refusal. Holds nothing that was sent."""
    if isinstance(error, JobRefused):
        return f"the job breaks {_rules(len(error.problems))}"
    if isinstance(error, JobProblems):
        return "the job is not valid"
    return next((words for kind, words in _REASONS if isinstance(error, kind)), "")


def _rules(count: int) -> str:
    return "1 rule" if count == 1 else f"{count} rules"
