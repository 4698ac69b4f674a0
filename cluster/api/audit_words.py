"""What a request to `/v1` asks for, in the audit's words; and its texts without secrets.

In: a request that found its route. Out: an `Act`. The words are those of the writes that carry the
acts out (`cluster.store.audited_acts`), so that done and refused ones are found together.
"""

import re

from django.http import HttpRequest

from cluster.api.pace import TooMany
from cluster.client_address import address_of
from cluster.operations import audit
from cluster.operations.errors import NotAllowed
from cluster.presented_secrets import hidden, secrets_of
from cluster.store.access import the_store
from cluster.store.audit_entries import Act, Actor, actor_of
from scheduler.access.caller import Caller

#: Acts whose name is not plain from method and route.
_ACTS = {
    ("PUT", "jobs"): "register job",
    ("PUT", "job"): "register job",
    ("DELETE", "job"): "stop job",
    ("PUT", "job evaluate"): "evaluate job",
    ("PUT", "job plan"): "plan job",
    ("PUT", "job dispatch"): "dispatch job",
    ("PUT", "job dispatch payload"): "dispatch job",
    ("PUT", "job periodic force"): "launch job",
    ("PUT", "job revert"): "revert job",
    ("PUT", "job scale"): "scale job",
    ("PUT", "job stable"): "mark job version",
    ("PUT", "job versions tag"): "tag job version",
    ("DELETE", "job versions tag"): "untag job version",
    ("PUT", "jobs parse"): "parse job",
    ("PUT", "validate job"): "validate job",
    ("DELETE", "evaluations"): "delete evaluation",
    ("PUT", "allocation stop"): "stop allocation",
    ("PUT", "client allocation restart"): "restart allocation",
    ("PUT", "client allocation signal"): "signal allocation",
    ("GET", "client allocation gc"): "collect allocation",
    ("PUT", "client allocation gc"): "collect allocation",
    ("GET", "client gc"): "collect ended allocations",
    ("PUT", "client gc"): "collect ended allocations",
    ("PUT", "deployment promote"): "promote deployment",
    ("PUT", "deployment pause"): "pause deployment",
    ("PUT", "deployment fail"): "fail deployment",
    ("PUT", "deployment unblock"): "unblock deployment",
    ("PUT", "deployment allocation-health"): "set health of allocations",
    ("PUT", "node drain"): "drain node",
    ("PUT", "node eligibility"): "open or close node",
    ("PUT", "node evaluate"): "evaluate node",
    ("PUT", "node purge"): "purge node",
    ("PUT", "operator scheduler configuration"): "change scheduler settings",
    ("PUT", "system gc"): "collect garbage",
    ("PUT", "system reconcile summaries"): "reconcile job summaries",
    ("PUT", "search"): "search",
    ("PUT", "webhook test"): "write webhook delivery",
    ("PUT", "operator keyring rotate"): "rotate root key",
    ("DELETE", "operator keyring key"): "delete root key",
    ("PUT", "client identity renew"): "renew identity",
    ("PUT", "acl identity client-introduction-token"): "introduce node",
    ("GET", "operator snapshot"): "save snapshot",
    ("PUT", "operator snapshot"): "restore snapshot",
}
_READS = ("GET", "HEAD")
_VERBS = {"GET": "read", "HEAD": "read", "PUT": "write", "POST": "write", "DELETE": "delete"}
#: Parts of addresses that name what is acted on, by what they name.
_TARGETS = {
    "job_id": "job",
    "alloc_id": "allocation",
    "node_id": "node",
    "eval_id": "evaluation",
    "deployment_id": "deployment",
}
_IN_NAMESPACES = frozenset({"job", "allocation", "evaluation", "deployment"})
_WORD = re.compile(r"[a-z][a-z-]*")
#: Where a token may be looked for by its secret, so that an address may hold one.
_OF_TOKENS = "token"
_ACCESSOR_LETTERS = 8


def note_not_done(request: HttpRequest, by: Caller | None, error: Exception) -> None:
    """Tell the audit of a request that was refused or failed; `by` is None where a token was bad.

    Of reads only what somebody may not do: what does not exist is no act.
    """
    if request.method in _READS and not isinstance(error, NotAllowed | TooMany):
        return
    if isinstance(error, TooMany):
        note_too_many(request, error.by)
        return
    who = actor_of(by) if by is not None else Actor(address=address_of(request))
    at = request.clock.now()  # type: ignore[attr-defined] # set by the middleware
    if by is None and isinstance(error, NotAllowed):
        reason = "no such token, or it has expired"
        audit.note_refused(the_store(), who, act_of(request), reason, at=at)
    else:
        act, secrets = act_of(request), secrets_of(request)
        audit.note_not_done(the_store(), who, act, error, at=at, secrets=secrets)


def note_too_many(request: HttpRequest, by: Caller | None) -> None:
    """Tell the audit that somebody sent more than they may: once a minute, with a count."""
    who = actor_of(by) if by is not None else Actor(address=address_of(request))
    at = request.clock.now()  # type: ignore[attr-defined] # set by the middleware
    audit.note_refused(the_store(), who, Act("many acts"), "too many requests", at=at)


def act_of(request: HttpRequest) -> Act:
    """What a request asks for, and of what."""
    match = request.resolver_match
    words = words_of(match.route if match is not None else "")
    method = "PUT" if request.method == "POST" else request.method or ""
    told = _ACTS.get((method, words)) or f"{_VERBS.get(method, 'ask for')} {words}".rstrip()
    path = match.kwargs if match is not None else {}
    kind, name = _target(words, path)
    if _OF_TOKENS in words:
        name = name[:_ACCESSOR_LETTERS]
    namespace = (request.GET.get("namespace") or "default") if kind in _IN_NAMESPACES else ""
    secrets = secrets_of(request)
    return Act(told, kind, hidden(name, secrets), hidden(namespace, secrets))


def words_of(route: str) -> str:
    """The words of a route, without what stands for names: `job evaluate`."""
    parts = route.removeprefix("v1/").removeprefix("^").removesuffix(r"\Z").split("/")
    return " ".join(found.group() for part in parts if (found := _WORD.match(part.lstrip("^."))))


def _target(words: str, path: dict[str, str]) -> tuple[str, str]:
    for part, kind in _TARGETS.items():
        if part in path:
            return kind, str(path[part])
    return (words, str(path["name"])) if "name" in path else ("", "")
