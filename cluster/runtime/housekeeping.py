"""What the leader's process does on the side: trims what grows, checkpoints SQLite.

On a thread and a connection of its own, so that no request waits for it. Only the leader runs it.
"""

import logging
import threading
from functools import partial

from django.conf import settings
from django.db import connections

from cluster.operations.keyring import keep_keyring
from cluster.operations.variable_locks import end_overdue_locks, rearm_locks
from cluster.operations.variables import rekey_variables
from cluster.runtime.clock import RandomIDs, SystemClock
from cluster.store import audit
from cluster.store.access import the_store
from cluster.store.beats import forget_beats
from cluster.store.retention import (
    BATCH,
    FIRST_STORY,
    LogSize,
    checkpoint,
    forget_pages,
    trim_events,
    trim_job_stubs,
    trim_sessions,
    trim_stories,
    trim_stubs,
)
from cluster.store.token_uses import forget_uses
from cluster.store.tokens import forget_expired
from scheduler.access.caller import CLUSTER

log = logging.getLogger(__name__)

CHECKPOINT_S = 2.0
TRIM_S = 60.0
_HOUR_NS = 3600 * 1_000_000_000
_DAY_NS = 24 * _HOUR_NS


class Housekeeping:
    """Runs from `start` to `stop`."""

    def __init__(self) -> None:
        self._clock = SystemClock()
        self._ids = RandomIDs()
        self._stopped = threading.Event()
        self._stories_seen = FIRST_STORY
        self._log_size = LogSize()
        self._thread = threading.Thread(target=self._run, name="housekeeping", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End, once the present step is done."""
        self._stopped.set()

    def _run(self) -> None:
        trimmed_at = self._clock.monotonic()
        self._keep_keyring()
        self._rearm_locks()
        while not self._stopped.wait(CHECKPOINT_S):
            try:
                checkpoint(the_store())
                end_overdue_locks(the_store(), by=CLUSTER, now=self._clock.now())
                if self._clock.monotonic() - trimmed_at >= TRIM_S:
                    trimmed_at = self._clock.monotonic()
                    self._trim()
                    forget_pages(the_store())
            except Exception:
                # Nothing depends on it at once; the next round tries again.
                log.exception("action=housekeeping failed")
        connections.close_all()

    def _keep_keyring(self) -> None:
        """Agents get no identities until there is a key: the first comes with the first leader."""
        try:
            while rekey_variables(the_store(), by=CLUSTER, now=self._clock.now()):
                if self._stopped.is_set():
                    return
            keep_keyring(the_store(), by=CLUSTER, now=self._clock.now(), ids=self._ids)
        except Exception:
            log.exception("action=keyring failed")

    def _rearm_locks(self) -> None:
        """Whoever held one could not renew it while nobody answered."""
        try:
            rearm_locks(the_store(), by=CLUSTER, now=self._clock.now())
        except Exception:
            log.exception("action=rearm-locks failed")

    def _trim(self) -> None:
        now = self._clock.now()
        self._keep_keyring()
        forget_expired(the_store(), now=now)
        forget_beats(the_store())
        forget_uses(the_store())
        self._trim_audit(now)
        stub_age, stub_count = (
            round(settings.BIVOUAC_STUB_DAYS * 24 * _HOUR_NS),
            settings.BIVOUAC_STUB_COUNT,
        )
        for trim in (
            partial(
                trim_events,
                now=now,
                keep_for=round(settings.BIVOUAC_EVENT_HOURS * _HOUR_NS),
                keep_bytes=settings.BIVOUAC_EVENT_BYTES,
                log_size=self._log_size,
            ),
            partial(trim_stubs, now=now, keep_for=stub_age, keep_count=stub_count),
            partial(trim_job_stubs, now=now, keep_for=stub_age, keep_count=stub_count),
            partial(trim_sessions, now=now),
        ):
            while not self._stopped.is_set() and trim(the_store()) == BATCH:
                pass
        self._stories_seen = trim_stories(
            the_store(), now=now, keep_for=stub_age, after=self._stories_seen
        )

    def _trim_audit(self, now: int) -> None:
        before = now - round(settings.BIVOUAC_AUDIT_KEEP * _DAY_NS)
        while not self._stopped.is_set():
            if audit.trim_audit(the_store(), before=before) < audit.BATCH:
                return
