"""One call of an agent: which node it is, what it proves, what it sends.

In: a Django request. Out: its parts, typed; the node, once it is proven.
"""

from typing import TypeVar

from django.http import HttpRequest

from cluster.agent.protocol import JOIN_HEADER, JSON, MAX_BODY, MSGPACK, NODE_HEADER, decode
from cluster.client_address import address_of
from cluster.operations.errors import NotAllowed, NotFound, OperationRefused, TooLarge
from cluster.operations.node_identities import NODE_NOT_FOUND, why_not
from cluster.presented_secrets import hidden, secrets_of
from cluster.store.access import the_store
from scheduler.access.caller import Caller, CallerKind
from scheduler.ports import Clock, IDSource, StateReader
from scheduler.structs.node import Node

Message = TypeVar("Message")


class NodeRequest:
    """A request under `/v1/fleet/`."""

    def __init__(self, request: HttpRequest) -> None:
        self.request = request
        self.coding = JSON if request.content_type == JSON else MSGPACK
        self.node_id = request.headers.get(NODE_HEADER, "")
        self.join_token = request.headers.get(JOIN_HEADER, "")
        scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
        #: Its secret, or the identity it was given.
        self.secret = secret.strip() if scheme == "Bearer" else ""
        #: Set by the middleware.
        self.clock: Clock = request.clock  # type: ignore[attr-defined] # set by the middleware
        self.ids: IDSource = request.ids  # type: ignore[attr-defined] # set by the middleware

    @property
    def caller(self) -> Caller:
        """The agent as the record names it; its right is what it shows, asked by operations."""
        address = address_of(self.request)
        return Caller(kind=CallerKind.AGENT, id=self.node_id, name=self.node_id, address=address)

    @property
    def shown_node_id(self) -> str:
        """The node it says it is, without anything it proves itself with."""
        return hidden(self.node_id, secrets_of(self.request))

    @property
    def now(self) -> int:
        """Wall clock, ns."""
        return self.clock.now()

    def monotonic(self) -> float:
        """Seconds on a clock that never jumps."""
        return self.clock.monotonic()

    def chance(self) -> float:
        """A number in [0, 1)."""
        return float(self.request.chance())  # type: ignore[attr-defined] # set by the middleware

    def body(self, message: type[Message]) -> Message:
        """The message sent. Raises TooLarge, or a msgspec error for one that is none."""
        length = self.request.headers.get("Content-Length", "0")
        if not length.isdecimal() or int(length) > MAX_BODY:
            raise TooLarge(f"a body has at most {MAX_BODY} bytes")
        try:
            return decode(self.request.read(MAX_BODY + 1), message, self.coding)
        except (UnicodeDecodeError, RecursionError):
            raise OperationRefused("the body is not understood") from None

    def number(self, name: str) -> float:
        """A number of the query; 0 when absent."""
        text = self.request.GET.get(name, "0")
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not 0 <= value < 2**63:
            raise OperationRefused(f"invalid {name}: {text[:32]}")
        return value

    async def node(self) -> Node:
        """The caller's node. Raises NotFound for an unknown one, NotAllowed for one not proven."""
        now = self.now

        def look(reader: StateReader) -> tuple[Node | None, str]:
            node = reader.node(self.node_id)
            return node, why_not(reader, node, self.secret, now=now) if node else ""

        node, reason = await the_store().aread(look, short=True)
        if node is None:
            raise NotFound(NODE_NOT_FOUND)
        if reason:
            raise NotAllowed(reason)
        return node
