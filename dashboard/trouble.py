"""What does not work at this moment, as one sentence for people: the banner of every page.

In: the health that this process sees. Out: a strong clause with the reason and since when, then
what that means for whoever looks; or nothing.
"""

import msgspec
from django.utils.translation import gettext, gettext_noop

from cluster.store.health import APPLIER, HEALTH, LEADER, NOT_SEEN, RECORD, REDIS, WORKERS, Health
from dashboard.wording import clock_time

#: A cluster that starts is not yet seen; only one that does not get further is in trouble.
_STARTING_NS = 15 * 1_000_000_000

_KEPT = gettext_noop(
    "What you submit is kept and is decided once this is over. Jobs that run go on."
)
#: By part: what cannot be done, the subject of its fault, what it means.
_WORDS = {
    RECORD: (
        gettext_noop("Nothing can be changed"),
        "",
        gettext_noop("Pages show the cluster as it was read last. Jobs that run go on."),
    ),
    LEADER: (gettext_noop("Nothing is decided"), "", _KEPT),
    APPLIER: (gettext_noop("Nothing is placed"), gettext_noop("of the plan applier, "), _KEPT),
    WORKERS: (
        gettext_noop("Nothing is decided"),
        gettext_noop("of the scheduler workers, "),
        _KEPT,
    ),
    REDIS: (gettext_noop("Nothing is decided"), gettext_noop("Redis "), _KEPT),
}


class Trouble(msgspec.Struct, frozen=True):
    """What the banner says: in bold what cannot be done and why, then what that means."""

    strong: str
    text: str
    #: Whether nothing can be changed meanwhile: buttons that would are greyed.
    stops: bool = False


def trouble_now(now: int, health: Health = HEALTH) -> Trouble | None:
    """The worst that does not work; None while everything does."""
    for part in health.faulty:
        if part.fault == NOT_SEEN and now - part.since < _STARTING_NS:
            continue
        cannot, subject, meaning = _WORDS[part.name]
        why = f"{gettext(subject)}{part.fault}"
        strong = gettext("{cannot} since {since}: {why}.").format(
            cannot=gettext(cannot), since=clock_time(part.since), why=why
        )
        return Trouble(strong, gettext(meaning), stops=part.name == RECORD)
    return None
