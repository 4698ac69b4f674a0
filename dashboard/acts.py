"""People's acts for the audit that no write carries: coming in, going out, and what was refused.

In: requests of pages and the admin, Django's signals. Out: entries. A name that no account has is
left out: people type passwords into the wrong field.
"""

from typing import Any, TypeGuard

from django.contrib.auth import get_user_model
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.http import HttpRequest

from cluster.client_address import address_of
from cluster.operations.audit import note_done, note_not_done, note_refused
from cluster.presented_secrets import hidden, secrets_of
from cluster.store.access import the_store
from cluster.store.audit_entries import ADMIN, NOBODY, PAGE, Act, Actor, actor_of
from dashboard.rights import Right
from dashboard.throttle import wait_of
from scheduler.access.caller import Caller

SIGN_IN = Act("sign in")
SIGN_IN_BY_LINK = Act("sign in by a link")
SIGN_IN_BY_PROVIDER = Act("sign in by a provider")
SIGN_OUT = Act("sign out")
#: Sign-ins other than by a password, by the names of their addresses.
_WAYS_IN = {"login-once": SIGN_IN_BY_LINK, "provider-back": SIGN_IN_BY_PROVIDER}
#: What buttons ask for, by the names of their addresses, in the words of the writes behind them.
_BUTTONS = {
    "allocation-restart": "restart allocation",
    "allocation-stop": "stop allocation",
    "deployment-fail": "fail deployment",
    "deployment-pause": "pause deployment",
    "deployment-promote": "promote deployment",
    "drain-cancel": "cancel drain",
    "inside-collection": "change collection settings",
    "job-edit": "register job",
    "job-dispatch": "dispatch job",
    "job-evaluate": "evaluate job",
    "job-launch": "launch job",
    "job-mark-stable": "call job stable",
    "job-new": "register job",
    "job-purge": "purge job",
    "job-revert": "revert job",
    "job-scale": "scale job",
    "job-start": "register job",
    "job-stop": "stop job",
    "job-tag": "tag job version",
    "job-untag": "untag job version",
    "node-eligibility": "open or close node",
    "rehearsal-cancel": "cancel rehearsal",
    "staged-drain-cancel": "cancel staged drain",
    "variable": "write variable",
    "variable-delete": "delete variable",
    "variable-new": "write variable",
    "variable-show": "show value of variable",
    "volume-delete": "delete host volume",
    "volume-new": "write host volume",
    "what-if-ask": "rehearse",
    "what-if-delete": "delete composition",
    "what-if-rename": "rename composition",
    "what-if-save": "save composition",
}
#: Parts of addresses and forms that name what is acted on.
_TARGETS = {
    "job": "job",
    "job_id": "job",
    "allocation": "allocation",
    "deployment": "deployment",
    "pause": "deployment",
    "resume": "deployment",
    "node_id": "node",
}


def person_of(request: HttpRequest, user: Any = None) -> Actor:
    """Who sends a request; `user`, where the request does not know yet."""
    door = ADMIN if request.path.startswith("/admin/") else PAGE
    if user is None:
        return Actor(NOBODY, address=address_of(request), door=door)
    return Actor("person", str(user.pk), user.get_username(), address_of(request), door)


def note_link_refused(request: HttpRequest) -> None:
    """A login link that was used, too old, or never one."""
    reason = "the link was used before, is too old, or never was one"
    note_refused(the_store(), person_of(request), SIGN_IN_BY_LINK, reason, at=_now(request))


def note_provider_refused(request: HttpRequest, reason: str) -> None:
    """A sign-in by a provider that ended without anybody, in words of ours."""
    note_refused(the_store(), person_of(request), SIGN_IN_BY_PROVIDER, reason, at=_now(request))


def note_groups_given(request: HttpRequest, user: Any, detail: str) -> None:
    """The groups that a provider gave an account, and those that it took away."""
    act = Act("change groups by a provider", "account", user.get_username(), detail=detail)
    note_done(the_store(), person_of(request, user), act, at=_now(request))


def note_denied(request: HttpRequest, right: Right | None) -> None:
    """An address that is not for whoever asked for it, by the right that it needs."""
    told = Act(right.told if right is not None else "open an address without a right")
    act = _act_of(request) if request.method == "POST" else told
    missing = right.word if right is not None else ""
    who = person_of(request, request.user)
    note_refused(the_store(), who, act, "not allowed", at=_now(request), missing=missing)


def note_refusal(
    request: HttpRequest, by: Caller, error: Exception, target: Act | None = None
) -> None:
    """A button, or an act of the admin, that was refused; `target` where the form does not say."""
    act = target or _act_of(request)
    who = actor_of(by)._replace(door=person_of(request).door)
    secrets = secrets_of(request)
    note_not_done(the_store(), who, act, error, at=_now(request), secrets=secrets)


def _act_of(request: HttpRequest) -> Act:
    """What a button asks for, by its address and its form."""
    match = request.resolver_match
    name = (match.url_name if match is not None else "") or ""
    words = _BUTTONS.get(name, name.replace("-", " "))
    fields = {**request.POST.dict(), **(match.kwargs if match is not None else {})}
    for field, kind in _TARGETS.items():
        if target := str(fields.get(field) or ""):
            namespace = str(fields.get("namespace") or "") if kind == "job" else ""
            secrets = secrets_of(request)
            return Act(words, kind, hidden(target, secrets), hidden(namespace, secrets))
    return Act(words)


def note_own_act(request: HttpRequest, words: str) -> None:
    """What somebody did with the own account."""
    note_act(request, words, "account", request.user.get_username())


def note_act(request: HttpRequest, words: str, kind: str, target: str) -> None:
    """What somebody did that no write of the record carries."""
    act = Act(words, kind, target)
    note_done(the_store(), person_of(request, request.user), act, at=_now(request))


def note_admin_act(request: HttpRequest, words: str, kind: str, target: str, detail: str) -> None:
    """What somebody changed of accounts and groups."""
    act = Act(words, kind, target, detail=detail)
    note_done(the_store(), person_of(request, request.user), act, at=_now(request))


def note_account_kept(request: HttpRequest, reason: str) -> None:
    """A change of accounts and groups that was undone."""
    who = person_of(request, request.user)
    note_refused(the_store(), who, Act("change accounts and groups"), reason, at=_now(request))


def listen() -> None:
    """Hear of sign-ins and sign-outs from now on."""
    user_logged_in.connect(_came_in, dispatch_uid="audit")
    user_login_failed.connect(_did_not_come_in, dispatch_uid="audit")
    user_logged_out.connect(_went_out, dispatch_uid="audit")


def _came_in(sender: object, request: HttpRequest | None, user: Any, **_: object) -> None:
    del sender
    if _is_from_outside(request):
        match = request.resolver_match
        act = _WAYS_IN.get((match.url_name if match is not None else "") or "", SIGN_IN)
        note_done(the_store(), person_of(request, user), act, at=_now(request))


def _did_not_come_in(
    sender: object, credentials: dict[str, Any], request: HttpRequest | None = None, **_: object
) -> None:
    del sender
    if not _is_from_outside(request):
        return
    name = str(credentials.get("username") or "")[:150]
    users = get_user_model().objects
    user = users.filter(**{get_user_model().USERNAME_FIELD: name}).first() if name else None
    reason = "wrong name or password"
    if wait_of(request, name):
        reason = "too many wrong tries"
    note_refused(the_store(), person_of(request, user), SIGN_IN, reason, at=_now(request))


def _went_out(sender: object, request: HttpRequest | None, user: Any, **_: object) -> None:
    del sender
    if user is not None and _is_from_outside(request):
        note_done(the_store(), person_of(request, user), SIGN_OUT, at=_now(request))


def _is_from_outside(request: HttpRequest | None) -> TypeGuard[HttpRequest]:
    """Whether a request came through the middleware; tests and commands sign in without one."""
    return request is not None and hasattr(request, "clock")


def _now(request: HttpRequest) -> int:
    return int(request.clock.now())  # type: ignore[attr-defined]  # set by request_context
