"""Webhooks: who is told, what waits to be told, what became of it.

In: a store, what is asked, what holds. Out: indexes and rows as stored, or `OperationRefused`.
Nothing is sent here (`cluster.runtime.notifier`).
"""

import re
from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from cluster.jobspec.problems import error_text
from cluster.notifications.send import address_problem, shown_host
from cluster.operations.errors import NotFound, OperationRefused
from cluster.operations.rights import require_management, require_writes
from cluster.seals import sealed_secret
from scheduler.access.caller import Caller
from scheduler.ports import Change, Fence, IDSource, StateStore
from scheduler.state.webhook_nouns import WEBHOOK_DELIVERIES, WEBHOOKS
from scheduler.structs.webhook import DeliveryState, NoticeKind, Webhook, WebhookDelivery

NO_WEBHOOK = "webhook not found"
_NAME = re.compile(r"[a-zA-Z0-9-_]{1,128}")
_LONGEST_TEXT = 256
_SECOND = 1_000_000_000
_LONGEST_WAIT = 30 * 24 * 3600 * _SECOND
#: Deliveries that are kept of a webhook once they have ended.
KEPT = 200
#: Attempts before one is given up, and the pauses between them: eight hours together.
ATTEMPTS = 12
_FIRST_PAUSE, _LONGEST_PAUSE = 10 * _SECOND, 3600 * _SECOND


class SendAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """How one went; `problem` is "" for a good one."""

    id: str
    problem: str = ""


def put_webhook(
    store: StateStore, asked: Webhook, *, url: str, secret: str, by: Caller, now: int
) -> int:
    """Create the webhook, or change the one of its name; the index of the write.

    Of a stored one, address and secret stay where none is given.
    """
    require_writes(by, "operator")

    def work(change: Change) -> None:
        stored = change.get(WEBHOOKS, asked.name)
        problems = _problems(asked, url, secret, is_new=stored is None)
        if problems:
            raise OperationRefused(f'Invalid webhook "{asked.name}": {error_text(problems)}')
        kept = stored or Webhook()
        change.put(
            WEBHOOKS,
            replace(
                asked,
                host=shown_host(url) if url else kept.host,
                sealed_url=sealed_secret(url) if url else kept.sealed_url,
                sealed_secret=sealed_secret(secret) if secret else kept.sealed_secret,
                create_index=change.index if stored is None else stored.create_index,
                modify_index=change.index,
            ),
        )

    return store.write(WEBHOOKS.upserted, work, now=now, by=by)[0]


def delete_webhook(store: StateStore, name: str, *, by: Caller, now: int) -> int:
    """Delete a webhook and what it was told; the index of the write."""
    require_writes(by, "operator")

    def work(change: Change) -> None:
        if change.get(WEBHOOKS, name) is None:
            raise NotFound(NO_WEBHOOK)
        for delivery in change.list_by(WEBHOOK_DELIVERIES, "webhook", name):
            change.delete(WEBHOOK_DELIVERIES, delivery.id)
        change.delete(WEBHOOKS, name)

    return store.write(WEBHOOKS.deleted, work, now=now, by=by)[0]


def send_test(
    store: StateStore, name: str, *, by: Caller, now: int, ids: IDSource
) -> tuple[int, str]:
    """Have a webhook told a word to try it; the index of the write, and the delivery's id."""
    require_writes(by, "operator")
    delivery_id = ids.next_id()

    def work(change: Change) -> None:
        if change.get(WEBHOOKS, name) is None:
            raise NotFound(NO_WEBHOOK)
        line = f"A test of the webhook {name}: nothing is the matter."
        change.put(WEBHOOK_DELIVERIES, _new(change, delivery_id, name, (line,), ()))

    return store.write(WEBHOOK_DELIVERIES.upserted, work, now=now, by=by)[0], delivery_id


def queue_deliveries(
    store: StateStore,
    messages: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]],
    *,
    by: Caller,
    now: int,
    ids: IDSource,
    fence: Fence | None = None,
) -> int:
    """Have webhooks told: by name, the lines, and the keys of what they tell of."""
    require_management(by)

    def work(change: Change) -> None:
        for name, (lines, keys) in messages.items():
            if change.get(WEBHOOKS, name) is None:
                continue
            change.put(WEBHOOK_DELIVERIES, _new(change, ids.next_id(), name, lines, keys))
            ended = [
                each
                for each in change.list_by(WEBHOOK_DELIVERIES, "webhook", name)
                if each.state != DeliveryState.WAITING
            ]
            ended.sort(key=lambda each: each.create_index)
            for each in ended[: max(len(ended) - KEPT, 0)]:
                change.delete(WEBHOOK_DELIVERIES, each.id)

    return store.write(WEBHOOK_DELIVERIES.upserted, work, now=now, by=by, fence=fence)[0]


def note_attempts(
    store: StateStore,
    attempts: Sequence[SendAttempt],
    *,
    by: Caller,
    now: int,
    fence: Fence | None = None,
) -> int:
    """What came of attempts: done, to be tried again later, or given up."""
    require_management(by)

    def work(change: Change) -> None:
        for attempt in attempts:
            delivery = change.get(WEBHOOK_DELIVERIES, attempt.id)
            if delivery is not None and delivery.state == DeliveryState.WAITING:
                change.put(WEBHOOK_DELIVERIES, _tried(change, delivery, attempt))

    return store.write(WEBHOOK_DELIVERIES.upserted, work, now=now, by=by, fence=fence)[0]


def pause_after(attempts: int) -> int:
    """How long to wait after so many attempts that failed, ns."""
    growth: int = 3 ** min(attempts - 1, 10)
    return min(_FIRST_PAUSE * growth, _LONGEST_PAUSE)


def _tried(change: Change, delivery: WebhookDelivery, attempt: SendAttempt) -> WebhookDelivery:
    count = delivery.attempts + 1
    state, following = DeliveryState.DELIVERED, 0
    if attempt.problem:
        given_up = count >= ATTEMPTS
        state = DeliveryState.GIVEN_UP if given_up else DeliveryState.WAITING
        following = 0 if given_up else change.now + pause_after(count)
    return replace(
        delivery,
        state=state,
        attempts=count,
        next_attempt=following,
        result=attempt.problem or "it was taken",
        modify_time=change.now,
        modify_index=change.index,
    )


def _new(
    change: Change, delivery_id: str, name: str, lines: tuple[str, ...], keys: tuple[str, ...]
) -> WebhookDelivery:
    return WebhookDelivery(
        id=delivery_id,
        webhook=name,
        lines=lines,
        keys=keys,
        next_attempt=change.now,
        create_time=change.now,
        modify_time=change.now,
        create_index=change.index,
        modify_index=change.index,
    )


def _problems(asked: Webhook, url: str, secret: str, *, is_new: bool) -> list[str]:
    problems = []
    if not _NAME.fullmatch(asked.name):
        problems.append(f'invalid name "{asked.name}": must match regex ^[a-zA-Z0-9-_]{{1,128}}$')
    if len(asked.description) > _LONGEST_TEXT:
        problems.append(f"description longer than {_LONGEST_TEXT}")
    if (url or is_new) and (problem := address_problem(url)):
        problems.append(problem)
    if len(secret) > _LONGEST_TEXT:
        problems.append(f"secret longer than {_LONGEST_TEXT}")
    problems += [f'unknown kind "{kind}"' for kind in asked.kinds if kind not in set(NoticeKind)]
    if not 0 <= asked.blocked_after <= _LONGEST_WAIT:
        problems.append("BlockedAfter must be between 0s and 720h")
    return problems
