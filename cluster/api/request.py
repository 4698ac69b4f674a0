"""One request: who asks, in which namespace, with what body; and the guard around every view.

In: a Django request. Out: a `Call` for the view, or the refusal. Writes ask for their right in the
operation, reads in the view. Views raise `OperationRefused` for everything the caller did wrong.
"""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import cached_property
from typing import Any, TypeVar, cast

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, HttpResponseBase, QueryDict

from cluster.api.audit_words import note_not_done
from cluster.api.body import Body, read_body, read_optional_body
from cluster.api.callers import caller_of
from cluster.api.pace import TooMany, require_pace
from cluster.api.parameters import asks_for_additions, check_region, check_stale
from cluster.api.respond import answer_empty, refusal
from cluster.api.unknown_fields import refuse_unknown
from cluster.jobspec.problems import JobProblems
from cluster.operations.errors import Conflict, NotAllowed, NotFound, OperationRefused, TooLarge
from cluster.operations.rights import require
from cluster.store.access import the_store
from cluster.store.ports import RecordReader
from scheduler.access.access import EVERY_NAMESPACE, NOBODY
from scheduler.access.caller import ANONYMOUS, Caller
from scheduler.errors import IllegalTransition
from scheduler.ports import IDSource, StateReader
from scheduler.state.nouns import NAMESPACES
from scheduler.structs.identity import DEFAULT_NAMESPACE, JobKey

Result = TypeVar("Result")

MAX_BODY = 4 * 1024 * 1024


class RightsChanged(Exception):
    """What the caller may do changed while a read waited: it is asked and read anew."""


class Call:
    """A request of a known caller."""

    def __init__(self, request: HttpRequest, caller: Caller, *, is_open: bool = False) -> None:
        self.request = request
        self.caller = caller
        #: Whether everybody may call this, whatever their rights.
        self._is_open = is_open
        self._bodies: list[Body] = []

    @property
    def query(self) -> QueryDict:
        """The query parameters."""
        return self.request.GET

    @cached_property
    def namespace(self) -> str:
        """The namespace asked for; may be `*`."""
        return self.query.get("namespace") or DEFAULT_NAMESPACE

    @cached_property
    def additions(self) -> bool:
        """Whether what is ours beside the reference's fields is asked for (http-api.md 5.8)."""
        return asks_for_additions(self.query)

    def key_of_job(self, job_id: str) -> JobKey:
        """The key of a job in the namespace asked for."""
        return JobKey(self.namespace, job_id)

    def require(self, *capabilities: str) -> None:
        """Refuse unless one of the capabilities is granted in the namespace asked for."""
        require(self.caller, self.namespace, *capabilities)

    def allows(self, namespace: str, *capabilities: str) -> bool:
        """Whether one of the capabilities is granted in a namespace."""
        return self.caller.access.allows(namespace, *capabilities)

    def listed(self, reader: StateReader, *capabilities: str) -> frozenset[str] | None:
        """The namespaces whose objects a list shows that asks for this; None for all.

        Of a named namespace `require` has asked.
        """
        if self.namespace != EVERY_NAMESPACE:
            return frozenset({self.namespace})
        access = self.caller.access
        # Without globs the policies name every namespace themselves.
        names = [each.name for each in reader.list_all(NAMESPACES)] if access.has_globs else ()
        return access.namespaces_among(names, *capabilities)

    @property
    def raw_body(self) -> bytes:
        """The body as sent; raises `TooLarge` above `MAX_BODY`.

        Nothing is read of what somebody without any right sends.
        """
        if not self._is_open and self.caller.access == NOBODY:
            raise NotAllowed(missing="any right at all")
        try:
            raw = self.request.body
        except RequestDataTooBig:
            raise TooLarge("http: request body too large") from None
        if len(raw) > MAX_BODY:
            raise TooLarge("http: request body too large")
        return raw

    def body(self, name: str) -> Body:
        """The JSON object sent; raises when there is none."""
        return self._noted(read_body(self.raw_body, name))

    def optional_body(self, name: str) -> Body:
        """The JSON object sent, empty when there is none."""
        return self._noted(read_optional_body(self.raw_body, name))

    def _noted(self, body: Body) -> Body:
        self._bodies.append(body)
        return body

    def refuse_unknown(self) -> None:
        """Refuse what was sent and never asked for; called before anything is done with it."""
        refuse_unknown(self._bodies)

    @property
    def now(self) -> int:
        """The instant of the request, ns."""
        return int(self.request.clock.now())  # type: ignore[attr-defined] # set by the middleware

    @property
    def ids(self) -> IDSource:
        return cast("IDSource", self.request.ids)  # type: ignore[attr-defined] # set by the middleware

    def answers_by(self, deadline: float) -> float:
        """When a read that waits answers at the latest: what was said first, if it begins anew."""
        first: float = self.request.__dict__.setdefault("answers_by", deadline)
        return first

    async def require_same_rights(self) -> None:
        """Begin anew where the caller's rights changed since the request came: RightsChanged.

        Raises NotAllowed for a token that ended meanwhile.
        """
        if not self._is_open and (await caller_of(self.request)).access != self.caller.access:
            raise RightsChanged

    async def read(self, work: Callable[[RecordReader], Result], *, short: bool = False) -> Result:
        """Run `work` on one consistent reader, off the event loop unless it is `short`."""
        return await the_store().aread(work, short=short)

    async def write(
        self, operation: Callable[..., Result], *args: Any, ids: bool = True, **options: Any
    ) -> Result:
        """Run an operation with the store, who asks, `now` and, if it makes any, identifiers."""
        self.refuse_unknown()
        options["by"] = self.caller
        options["now"] = self.now
        if ids:
            options["ids"] = self.ids
        return await the_store().awrite_call(operation, *args, **options)

    async def write_to(
        self, operation: Callable[..., Result], *args: Any, **options: Any
    ) -> Result:
        """As `write`, where the reference has no 404 of its own for what is not there.

        Its 500 for a mistake of the caller is 400 here (http-api.md 1.6).
        """
        try:
            return await self.write(operation, *args, **options)
        except NotFound as absent:
            absent.status = OperationRefused.status
            raise


View = Callable[..., Awaitable[HttpResponseBase]]

#: Ids that the record makes, always in small letters; whoever asks may write them in others.
_MADE_IDS = ("alloc_id", "eval_id", "deployment_id")


def door(
    views: Mapping[str, View],
    *,
    strict: bool = False,
    asks_who: bool = True,
    answers_itself: bool = False,
    others: View | None = None,
) -> Callable[..., Coroutine[Any, Any, HttpResponseBase]]:
    """A Django view that hands each method to its own view, with its caller.

    PUT stands for POST too, unless `strict`. Without `asks_who` a token is not looked at, so that
    a bad one does no harm: for what everybody may know. What a process `answers_itself` is of no
    region. `others` answers methods that have no view; without it they are 405.
    """
    by_method = dict(views)
    if "PUT" in views and not strict:
        by_method.setdefault("POST", views["PUT"])

    async def guarded(request: HttpRequest, **path: str) -> HttpResponseBase:
        view = by_method.get(request.method or "", others)
        path = {name: text.lower() if name in _MADE_IDS else text for name, text in path.items()}
        if view is None:
            return refusal(405, "Invalid method")
        caller = None
        try:
            caller = await counted(request) if asks_who else ANONYMOUS
            check_stale(request.GET)
            if not answers_itself:
                check_region(request.GET)
            while True:
                try:
                    return await view(Call(request, caller, is_open=not asks_who), **path)
                except RightsChanged:
                    caller = await caller_of(request)
        except Exception as error:
            note_not_done(request, caller, error)
            return answer_refused(error)

    #: Which methods a route answers, for whoever walks the routes.
    guarded.methods = frozenset(by_method)  # type: ignore[attr-defined] # functions take attributes
    guarded.not_built = {  # type: ignore[attr-defined] # the same
        method: view.not_built for method, view in by_method.items() if hasattr(view, "not_built")
    }
    return guarded


async def counted(request: HttpRequest) -> Caller:
    """Who sends a request, if they may send one more. Raises NotAllowed, or TooMany."""
    try:
        caller = await caller_of(request)
    except NotAllowed:
        await require_pace(request, None)
        raise
    await require_pace(request, caller)
    return caller


def answer_refused(error: Exception) -> HttpResponse:
    """The answer to what was refused; raises again what is a fault."""
    if isinstance(error, TooMany):
        response = refusal(error.status, str(error))
        response["Retry-After"] = error.retry_after
        return response
    if isinstance(error, OperationRefused):
        return refusal(error.status, str(error))
    if isinstance(error, IllegalTransition):
        return refusal(Conflict.status, str(error))
    if isinstance(error, JobProblems):
        return refusal(400, error.text)
    raise error


async def unknown_path(request: HttpRequest, **_path: str) -> HttpResponse:
    """Nothing is here."""
    del request
    return answer_empty(404)
