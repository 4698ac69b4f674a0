"""What a page needs to move along a track: links without script, stops for the script."""

from collections.abc import Callable
from typing import Any

import msgspec
from django.utils.translation import gettext

from dashboard.stories.replay import Track
from dashboard.wording import clock_time

SPEEDS = (1, 10, 100)


def replayed(track: Track, address: Callable[[int], str]) -> dict[str, Any]:
    """What the buttons of a replay lead to; `address`: of the page at an index."""
    return {
        "track_stops": msgspec.json.encode(track.stops).decode(),
        "track_problems": msgspec.json.encode(track.problems).decode(),
        "track_last": len(track.stops) - 1,
        # As the script says it of every stop.
        "track_told": gettext("event {position} of {stops}, {stops2}").format(
            position=track.position + 1,
            stops=len(track.stops),
            stops2=clock_time(track.stops[track.position][1] * 1000000),
        ),
        "back_url": address(track.back),
        "on_url": address(track.on),
        "problem_url": address(track.next_problem),
        "speeds": SPEEDS,
    }
