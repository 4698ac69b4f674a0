"""One request: who asks, in which namespace, with what body; and the guard around every view.

In: a Django request. Out: a `Call` for the view, or the refusal. Every call needs a token;
nothing is anonymous. Views raise `OperationRefused` for everything the caller did wrong.
"""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import cached_property
from typing import Any, TypeVar, cast

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, HttpResponseBase, QueryDict

from cluster.api.access import DENIED, Caller
from cluster.api.body import Body, read_body, read_optional_body
from cluster.api.callers import caller_of
from cluster.api.parameters import check_stale
from cluster.api.respond import answer_empty, refusal
from cluster.jobspec.problems import JobProblems
from cluster.operations.errors import OperationRefused, TooLarge
from cluster.store.access import the_store
from scheduler.ports import IDSource, StateReader
from scheduler.structs.identity import DEFAULT_NAMESPACE, JobKey

Result = TypeVar("Result")

MAX_BODY = 4 * 1024 * 1024
EVERY_NAMESPACE = "*"


class Call:
    """A request of a known caller."""

    def __init__(self, request: HttpRequest, caller: Caller) -> None:
        self.request = request
        self.caller = caller

    @property
    def query(self) -> QueryDict:
        """The query parameters."""
        return self.request.GET

    @cached_property
    def namespace(self) -> str:
        """The namespace asked for; may be `*`."""
        return self.query.get("namespace") or DEFAULT_NAMESPACE

    def key_of_job(self, job_id: str, *, writes: bool = False) -> JobKey:
        """The key of a job in the namespace asked for, which the caller may use."""
        self.caller.require_namespace(self.namespace, writes=writes)
        return JobKey(self.namespace, job_id)

    def require_listing(self) -> None:
        """Refuse a list of one namespace that the caller does not see; `*` lists what it sees."""
        if self.namespace != EVERY_NAMESPACE:
            self.caller.require_namespace(self.namespace)

    def lists(self, namespace: str) -> bool:
        """Whether a list shows objects of that namespace."""
        if self.namespace == EVERY_NAMESPACE:
            return self.caller.sees(namespace)
        return self.namespace == namespace

    @property
    def listed_namespaces(self) -> frozenset[str] | None:
        """The namespaces whose objects a list shows; None for all."""
        return (
            self.caller.reads if self.namespace == EVERY_NAMESPACE else frozenset({self.namespace})
        )

    @property
    def raw_body(self) -> bytes:
        """The body as sent; raises `TooLarge` above `MAX_BODY`."""
        try:
            raw = self.request.body
        except RequestDataTooBig:
            raise TooLarge("http: request body too large") from None
        if len(raw) > MAX_BODY:
            raise TooLarge("http: request body too large")
        return raw

    def body(self, name: str) -> Body:
        """The JSON object sent; raises when there is none."""
        return read_body(self.raw_body, name)

    def optional_body(self, name: str) -> Body:
        """The JSON object sent, empty when there is none."""
        return read_optional_body(self.raw_body, name)

    @property
    def now(self) -> int:
        """The instant of the request, ns."""
        return int(self.request.clock.now())  # type: ignore[attr-defined] # set by the middleware

    @property
    def ids(self) -> IDSource:
        """Fresh identifiers."""
        return cast("IDSource", self.request.ids)  # type: ignore[attr-defined] # set by the middleware

    async def read(self, work: Callable[[StateReader], Result]) -> Result:
        """Run `work` on one consistent reader, off the event loop."""
        return await the_store().aread(work)

    async def write(
        self, operation: Callable[..., Result], *args: Any, ids: bool = True, **options: Any
    ) -> Result:
        """Run an operation with the store, `now` and, if it makes any, identifiers."""
        options["now"] = self.now
        if ids:
            options["ids"] = self.ids
        return await the_store().awrite_call(operation, *args, **options)


View = Callable[..., Awaitable[HttpResponseBase]]


def door(
    views: Mapping[str, View], *, strict: bool = False
) -> Callable[..., Coroutine[Any, Any, HttpResponseBase]]:
    """A Django view that hands each method to its own view, for known callers.

    PUT stands for POST too, unless `strict`.
    """
    by_method = dict(views)
    if "PUT" in views and not strict:
        by_method.setdefault("POST", views["PUT"])

    async def guarded(request: HttpRequest, **path: str) -> HttpResponseBase:
        view = by_method.get(request.method or "")
        if view is None:
            return refusal(405, "Invalid method")
        try:
            caller = await caller_of(request)
            if caller is None:
                return refusal(403, DENIED)
            check_stale(request.GET)
            return await view(Call(request, caller), **path)
        except OperationRefused as error:
            return refusal(error.status, str(error))
        except JobProblems as error:
            return refusal(400, error.text)

    return guarded


async def unknown_path(request: HttpRequest, **_path: str) -> HttpResponse:
    """Nothing is here."""
    del request
    return answer_empty(404)
