"""Tells webhooks what may need a person, on a thread and connections of its own.

Only the leader runs it, and nothing waits for it: a look reads what holds, a write notes what is
new, messages go out a few at a time, a write notes what came of them. Who leads next goes on from
the record; a message whose taking could not be noted goes out again under the same id.
"""

import logging
import threading
from collections.abc import Container, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

from django.conf import settings
from django.db import connections

from cluster.notifications.detect import Condition, conditions
from cluster.notifications.send import Message, NotSent, send
from cluster.operations.webhooks import SendAttempt, note_attempts, queue_deliveries
from cluster.runtime.clock import RandomIDs, SystemClock
from cluster.seals import SealBroken, opened_secret
from cluster.store.access import the_store
from cluster.store.ports import RecordReader
from scheduler.access.caller import CLUSTER
from scheduler.ports import Clock, Fence, IDSource
from scheduler.state.webhook_nouns import WEBHOOK_DELIVERIES, WEBHOOKS
from scheduler.structs.webhook import DeliveryState, NoticeKind, Webhook, WebhookDelivery

log = logging.getLogger(__name__)

#: Seconds between two looks.
LOOK_S = 5.0
#: So many times longer than a look is the pause after it.
CALM = 20
#: Lines of one message; what is beyond is counted.
LINES = 20
#: What comes back within this time is the same trouble still, ns: a job that crashes again and
#: again holds for as long as each of its starts takes to fail, and no longer.
OVER = 600 * 1_000_000_000
#: Messages that are out at a time.
AT_A_TIME = 4


class Notifier:
    """Runs from `start` to `stop`."""

    def __init__(
        self,
        fence: Fence | None = None,
        clock: Clock | None = None,
        ids: IDSource | None = None,
    ) -> None:
        """`fence` stops one that leads no more from telling what its successor tells."""
        self._fence = fence
        self._clock = clock or SystemClock()
        self._ids = ids or RandomIDs()
        #: By webhook, the keys that it was told of, and when each was found over; 0: it holds.
        self._told: dict[str, dict[str, int]] = {}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="notifier", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End, once the present look is done."""
        self._stopped.set()

    def look(self) -> None:
        """Once: note what is new, send what is due."""
        webhooks, found = the_store().read(self._seen)
        if not webhooks:
            self._told.clear()
            return
        self._queue(webhooks, found)
        self._deliver(webhooks)

    def _run(self) -> None:
        pause = LOOK_S
        while not self._stopped.wait(pause):
            began = self._clock.monotonic()
            try:
                self.look()
            except Exception:
                log.exception("action=notify failed")
            # A large record takes long to look at, and the leader shares this process.
            pause = max(LOOK_S, CALM * (self._clock.monotonic() - began))
        connections.close_all()

    def _seen(self, reader: RecordReader) -> tuple[dict[str, Webhook], list[Condition]]:
        webhooks = {each.name: each for each in reader.list_all(WEBHOOKS) if not each.is_paused}
        for name in webhooks.keys() - self._told.keys():
            kept = reader.list_by(WEBHOOK_DELIVERIES, "webhook", name)
            self._told[name] = {key: 0 for each in kept for key in each.keys}
        return webhooks, conditions(reader, self._clock.now()) if webhooks else []

    def _queue(self, webhooks: dict[str, Webhook], found: list[Condition]) -> None:
        now = self._clock.now()
        messages = {}
        for name, webhook in webhooks.items():
            wanted = {each.key: each for each in found if _wants(webhook, each, now)}
            told = _still_told(self._told[name], wanted, now)
            self._told[name] = told
            new = [each for key, each in wanted.items() if key not in told]
            if new:
                messages[name] = (_lines(new), tuple(each.key for each in new))
        if messages:
            queue_deliveries(
                the_store(), messages, by=CLUSTER, now=now, ids=self._ids, fence=self._fence
            )
            for name, (_, keys) in messages.items():
                self._told[name] |= dict.fromkeys(keys, 0)

    def _deliver(self, webhooks: dict[str, Webhook]) -> None:
        now = self._clock.now()
        due = [
            each
            for each in the_store().read(_waiting)
            if each.next_attempt <= now and each.webhook in webhooks
        ]
        if not due:
            return
        with ThreadPoolExecutor(AT_A_TIME) as pool:
            attempts = list(pool.map(lambda each: _try(webhooks[each.webhook], each, now), due))
        note_attempts(the_store(), attempts, by=CLUSTER, now=self._clock.now(), fence=self._fence)


def _still_told(told: Mapping[str, int], held: Container[str], now: int) -> dict[str, int]:
    """What need not be told again: what holds, and what was over for less than `OVER`."""
    lately = {key: over for key, over in told.items() if not over or now - over < OVER}
    return {key: 0 if key in held else over or now for key, over in lately.items()}


def _waiting(reader: RecordReader) -> list[WebhookDelivery]:
    return [
        each for each in reader.list_all(WEBHOOK_DELIVERIES) if each.state == DeliveryState.WAITING
    ]


def _wants(webhook: Webhook, condition: Condition, now: int) -> bool:
    if webhook.kinds and condition.kind not in webhook.kinds:
        return False
    return (
        condition.kind is not NoticeKind.BLOCKED or condition.since + webhook.blocked_after <= now
    )


def _lines(found: Iterable[Condition]) -> tuple[str, ...]:
    every = [f"{each.text} {settings.BIVOUAC_PUBLIC_URL}{each.path}" for each in found]
    left = len(every) - LINES
    return (*every[:LINES], *((f"And {left} more.",) if left > 0 else ()))


def _try(webhook: Webhook, delivery: WebhookDelivery, now: int) -> SendAttempt:
    try:
        secret = opened_secret(webhook.sealed_secret) if webhook.sealed_secret else ""
        message = Message(id=delivery.id, lines=delivery.lines, secret=secret)
        url = opened_secret(webhook.sealed_url)
        send(url, message, now=now, allows_private=settings.BIVOUAC_WEBHOOK_PRIVATE)
    except (NotSent, SealBroken) as problem:
        return SendAttempt(id=delivery.id, problem=str(problem) or "it was not sent")
    return SendAttempt(id=delivery.id)
