"""Webhooks: whom the cluster tells what may need a person, and what became of each telling."""

from enum import StrEnum

from scheduler.structs.wire import Duration, Nanoseconds, Wire, wire_names

_MINUTE = 60 * 1_000_000_000


class NoticeKind(StrEnum):
    """What a webhook can be told of."""

    BLOCKED = "blocked"
    CRASH_LOOP = "crash-loop"
    ROLLOUT_WAITS = "rollout-waits"
    ROLLOUT_FAILED = "rollout-failed"
    NODE_LOST = "node-lost"
    DRAIN_HELD = "drain-held"


class Webhook(Wire, frozen=True, rename=wire_names(sealed_url="SealedURL")):
    """An address that is told; it and what signs are sealed, and shown nowhere."""

    name: str = ""
    description: str = ""
    #: Of the address what may be shown: scheme and host.
    host: str = ""
    sealed_url: str = ""
    #: What bodies are signed with; "": they are not.
    sealed_secret: str = ""
    #: Of what it is told; none: of everything.
    kinds: tuple[str, ...] = ()
    #: How long something waits for room before that is told.
    blocked_after: Duration = 5 * _MINUTE
    is_paused: bool = False
    create_index: int = 0
    modify_index: int = 0


class DeliveryState(StrEnum):
    """What became of a telling."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    GIVEN_UP = "given-up"


class WebhookDelivery(Wire, frozen=True):
    """One message to one webhook; its id is the same at every attempt."""

    id: str = ""
    webhook: str = ""
    state: str = DeliveryState.WAITING
    #: What it says, line by line.
    lines: tuple[str, ...] = ()
    #: What it tells of, so that nothing is told twice while it holds.
    keys: tuple[str, ...] = ()
    attempts: int = 0
    next_attempt: Nanoseconds = 0
    #: What came of the newest attempt.
    result: str = ""
    create_time: Nanoseconds = 0
    modify_time: Nanoseconds = 0
    create_index: int = 0
    modify_index: int = 0
