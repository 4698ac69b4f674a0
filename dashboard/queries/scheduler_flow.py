"""How many evaluations and plans went which way, on the page of the scheduler.

In: what the leader counted in its memory, and what is counted now. Out: the drawing, the same as a
list for narrow screens, and over which time it is. Without a leader nothing is made up.
"""

from typing import Any

from django.utils.translation import gettext, gettext_noop

from cluster.store.leader_news import LeaderNews
from dashboard.graphs.queue_map import queue_map
from dashboard.scheduling import places_of
from dashboard.wording import number, span
from scheduler.structs import counted as ways
from scheduler.structs.counted import FIVE_MINUTES, HOUR, MINUTE, CountedTime

_SECOND = 1_000_000_000
#: A count over a stretch is over a sixtieth more of it; over this much more it is said.
_HELD_UP = 1.1
#: By what an address says: how far is looked back, s; the word of the choice; what it is called.
STRETCHES = {
    "": (MINUTE, gettext_noop("1 min"), gettext_noop("last minute")),
    "5m": (FIVE_MINUTES, gettext_noop("5 min"), gettext_noop("last 5 minutes")),
    "1h": (HOUR, gettext_noop("1 h"), gettext_noop("last hour")),
}


def flow_parts(news: LeaderNews | None, window: str) -> dict[str, Any]:
    """The context of the panel; `window` is a key of `STRETCHES`."""
    counted = _counted(news, STRETCHES[window][0])
    went = {word: round(count) for word, count in counted.counts.items()}
    told = _stretch(counted, window)
    places = places_of(news)
    if counted.seconds:
        places |= {"applied": went.get(ways.WHOLE, 0), "part": went.get(ways.PART, 0)}
    return {
        "went": went,
        "queue": queue_map(places, went, stretch=told),
        "places": places,
        "stretch_told": told,
        "is_counted": bool(counted.seconds),
        "also": _also(went, counted),
        "a_write": _a_write(went),
        "windows": [
            {
                "word": gettext(word),
                "url": f"/scheduler/?moved={key}" if key else "/scheduler/",
                "is_current": key == window,
            }
            for key, (_, word, _) in STRETCHES.items()
        ],
    }


def _counted(news: LeaderNews | None, stretch: int) -> CountedTime:
    told = news.stats.flows if news is not None else ()
    nothing = CountedTime(stretch=stretch, seconds=0.0)
    return next((each for each in told if each.stretch == stretch), nothing)


def _stretch(counted: CountedTime, window: str) -> str:
    """In words: less than asked for while the leader is younger, more after it was held up."""
    if _is_young(counted) or counted.seconds > counted.stretch * _HELD_UP:
        return gettext("last {span}").format(span=span(round(counted.seconds) * _SECOND))
    return gettext(STRETCHES[window][2])


def _is_young(counted: CountedTime) -> bool:
    return 0 < counted.seconds < counted.stretch


def _also(went: dict[str, int], counted: CountedTime) -> list[str]:
    """What has no arrow of its own: found room, began to wait for it, ended; plans that failed."""
    since = span(round(counted.seconds) * _SECOND)
    young = [gettext("this leader began {span} ago").format(span=since)]
    words = (
        (ways.WOKEN, gettext("woken by room {count}")),
        (ways.BLOCKED, gettext("began to wait for room {count}")),
        (ways.ENDED, gettext("ended {count}")),
        (ways.FAILED_PLAN, gettext("plans that could not be judged {count}")),
    )
    told = [text.format(count=number(went[word])) for word, text in words if went.get(word)]
    return told + (young if _is_young(counted) else [])


def _a_write(went: dict[str, int]) -> str:
    """How many plans one transaction of the applier took, on the average."""
    writes = went.get(ways.WRITES, 0)
    return f"{went.get(ways.WRITTEN, 0) / writes:.1f}" if writes else ""
