"""The map of all nodes as it was: at which moment, and the track that leads from one to the next.

In: a reader and a TopologyView that names an index of the past. Out: nodes as they stood then, and
what is not known any more. Only moments whose write is still in the event log can be asked for.
"""

from typing import Any

import msgspec
from django.utils.translation import gettext

from cluster.store.ports import RecordReader, StoryFilter
from dashboard.queries.replay import replayed
from dashboard.stories.heat import fleet_then, forgotten_told
from dashboard.stories.replay import PastMoment, Track, times_of, track_of
from dashboard.topology import MappedNodes
from dashboard.topology_view import NOW, TopologyView
from dashboard.wording import clock_time, count_of, number
from scheduler.structs.story import StoryKind

#: So many moments of the log are stops, evenly by their indexes; losses are stops of their own.
_STOPS = 240
_MOST_LOSSES = 60


class PastMap(msgspec.Struct, frozen=True, kw_only=True):
    """All nodes at one moment of the past."""

    moment: PastMoment
    fleet: MappedNodes
    track: Track
    losses: int
    #: What of the moment is not known any more.
    told: str


def past_map(reader: RecordReader, view: TopologyView) -> PastMap | None:
    """The map at the index that the view names, or the nearest one that is known.

    None where nothing of the past is known: the log is empty.
    """
    oldest, newest = reader.oldest_event, reader.index
    wanted = newest if view.at == NOW else min(int(view.at), newest)
    index = max(wanted, oldest)
    moments = reader.moments_of({*_places(oldest, newest), oldest, newest, index})
    # What an empty record is begun with was written at no moment.
    moments = {place: at for place, at in moments.items() if at}
    if not moments:
        return None
    if index not in moments:
        index = min(moments)
    losses = _losses(reader, min(moments.values()))
    moments |= reader.moments_of(losses - moments.keys())
    stops = [PastMoment(place, at) for place, at in sorted(moments.items())]
    track = track_of(stops, dict.fromkeys(losses, "lost"), times_of(stops), index)
    assert track is not None, "the moment itself is a stop"
    then = fleet_then(reader, index, moments[index])
    fleet = then.nodes
    if view.lit is not None:
        fleet = fleet._replace(lit=reader.held_then(view.lit, index, moments[index]))
    told = [forgotten_told(then)]
    if wanted < oldest:
        told.insert(0, _too_old(wanted, oldest))
    return PastMap(
        moment=PastMoment(index, moments[index]),
        fleet=fleet,
        track=track,
        losses=len(track.problems),
        told=" ".join(told),
    )


def _places(oldest: int, newest: int) -> range:
    return range(oldest, newest + 1, max(-(-(newest - oldest) // _STOPS), 1))


def _losses(reader: RecordReader, since: int) -> set[int]:
    """The indexes at which nodes were lost, the newest of many."""
    wanted = StoryFilter(kinds=frozenset({StoryKind.LOSS}), since=since)
    found = reader.stories(wanted, _MOST_LOSSES)[:_MOST_LOSSES]
    return {row.story.create_index for row in found if row.story.create_time >= since}


def _too_old(wanted: int, oldest: int) -> str:
    return gettext(
        "How things stood at index {wanted} is not known any more: events are kept from index"
        " {oldest} on, which is shown."
    ).format(wanted=number(wanted), oldest=number(oldest))


def past_context(found: PastMap, view: TopologyView) -> dict[str, Any]:
    """What the page says of the moment, and how one goes on from it."""
    at = str(found.moment.index)
    return {
        "past": found.moment,
        "past_told": found.told,
        "now_url": view.address(at=""),
        "moment_url": view.address(at=at),
        "track": found.track,
        "where_told": _where(found),
        **replayed(found.track, lambda index: view.address(at=str(index))),
    }


def _where(found: PastMap) -> str:
    """`Write 61 204 of 1 to 70 000, 09:00:02 to 09:44:18. 2 losses.`."""
    track = found.track
    first, last = track.stops[0], track.stops[-1]
    told = gettext("Index {index} of {first} to {last}, {since} to {until}.").format(
        index=number(found.moment.index),
        first=number(first[0]),
        last=number(last[0]),
        since=clock_time(track.first),
        until=clock_time(track.last),
    )
    if not found.losses:
        return told
    return f"{told} {count_of(found.losses, '{count} loss.', '{count} losses.')}"
