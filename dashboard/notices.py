"""What a person wants to be told of in the own browser, and what of it holds now.

In: an account and its choice; the record. Out: Notices, of what the person may read alone. One
look at the record serves everybody for a while, as one costs more the larger the record is.
"""

import threading
from collections.abc import Iterable

import msgspec
from django.utils.translation import gettext, gettext_noop

from cluster.notifications.detect import Condition, conditions
from cluster.store.access import StoreAccess
from dashboard.models import NoticeChoice
from dashboard.viewer import Viewer
from scheduler.ports import Clock
from scheduler.structs.webhook import NoticeKind

SECOND = 1_000_000_000
#: How long a look is good for, s, and how many times longer than it took.
LOOK_S = 5.0
CALM = 20
#: Of what holds, the newest so many are told.
MOST = 100
_FIRST_WAIT, _LONGEST_WAIT = 300, 30 * 24 * 3600
#: Each kind: what is said of it, and the title of its notices.
WORDS = {
    NoticeKind.NODE_LOST: (gettext_noop("a node is lost"), gettext_noop("Node lost")),
    NoticeKind.CRASH_LOOP: (
        gettext_noop("a job fails again and again"),
        gettext_noop("Job fails"),
    ),
    NoticeKind.ROLLOUT_WAITS: (
        gettext_noop("a rollout waits for a promotion"),
        gettext_noop("Rollout waits"),
    ),
    NoticeKind.ROLLOUT_FAILED: (gettext_noop("a rollout failed"), gettext_noop("Rollout failed")),
    NoticeKind.DRAIN_HELD: (gettext_noop("a drain is held up"), gettext_noop("Drain held up")),
    NoticeKind.BLOCKED: (
        gettext_noop("a job waits for room for longer than set here"),
        gettext_noop("Job waits for room"),
    ),
}
#: What is no namespace's.
_OF_NODES = frozenset({NoticeKind.NODE_LOST, NoticeKind.DRAIN_HELD})


class NoticeWish(msgspec.Struct, frozen=True, kw_only=True):
    """Of what somebody wants to be told; none: of nothing."""

    kinds: frozenset[NoticeKind] = frozenset()
    #: Seconds that a job waits for room before that is told.
    blocked_after: int = _FIRST_WAIT


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to tell; `key` is the same as long as it is the same trouble."""

    key: str
    title: str
    text: str
    path: str


def choice_of(user_id: int) -> NoticeWish:
    """What the account has chosen; nothing before it has."""
    row = NoticeChoice.objects.filter(user_id=user_id).first()
    if row is None:
        return NoticeWish()
    known = {kind.value for kind in NoticeKind}
    return NoticeWish(
        kinds=frozenset(NoticeKind(kind) for kind in row.kinds.split() if kind in known),
        blocked_after=row.blocked_after,
    )


def read_choice(kinds: Iterable[str], minutes: str) -> tuple[NoticeWish, str]:
    """What a form asks for, and what is wrong with it; "": nothing."""
    known = {kind.value: kind for kind in NoticeKind}
    chosen = list(kinds)
    unknown = [kind for kind in chosen if kind not in known]
    seconds = int(minutes) * 60 if minutes.isascii() and minutes.isdecimal() else 0
    choice = NoticeWish(kinds=frozenset(known[kind] for kind in chosen if kind in known))
    if unknown:
        return choice, gettext("There is no such kind.")
    if not 60 <= seconds <= _LONGEST_WAIT:
        return choice, gettext("Write 1 to {longest_wait} minutes.").format(
            longest_wait=_LONGEST_WAIT // 60
        )
    return msgspec.structs.replace(choice, blocked_after=seconds), ""


def keep_choice(user_id: int, choice: NoticeWish) -> None:
    """Keep it for the account, in place of the one before."""
    kinds = " ".join(sorted(choice.kinds))
    NoticeChoice.objects.update_or_create(
        user_id=user_id, defaults={"kinds": kinds, "blocked_after": choice.blocked_after}
    )


class SharedLook:
    """What holds, looked at now and then for everybody who asks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._store: StoreAccess | None = None
        self._found: list[Condition] = []
        self._good_until = float("-inf")

    def conditions(self, store: StoreAccess, clock: Clock) -> list[Condition]:
        """All that hold, as of a short while ago."""
        with self._lock:
            began = clock.monotonic()
            if self._store is not store or began >= self._good_until:
                self._found = store.read(lambda reader: conditions(reader, clock.now()))
                ended = clock.monotonic()
                self._store = store
                self._good_until = ended + max(LOOK_S, CALM * (ended - began))
            return self._found


def notices_for(
    found: Iterable[Condition], choice: NoticeWish, viewer: Viewer, now: int
) -> list[Notice]:
    """Those that were chosen and that the person may read, the newest first."""
    told = [each for each in found if _is_told(each, choice, viewer, now)]
    told.sort(key=lambda each: each.since, reverse=True)
    return [
        Notice(key=each.key, title=gettext(WORDS[each.kind][1]), text=each.text, path=each.path)
        for each in told[:MOST]
    ]


def _is_told(condition: Condition, choice: NoticeWish, viewer: Viewer, now: int) -> bool:
    if condition.kind not in choice.kinds:
        return False
    if condition.kind in _OF_NODES:
        return viewer.access.reads("node")
    if not viewer.sees(condition.namespace):
        return False
    waits = condition.kind is NoticeKind.BLOCKED
    return not waits or condition.since + choice.blocked_after * SECOND <= now
