"""A word to the process's own desk that a rehearsal waits; without it the desk looks a bit later.

In: whoever wants to hear it. Out: calls. Other processes are told nothing: they look themselves.
"""

from collections.abc import Callable

_listeners: list[Callable[[], None]] = []


def on_rehearsal(listener: Callable[[], None]) -> None:
    """Be called when one was asked for."""
    _listeners.append(listener)


def cue_rehearsals() -> None:
    """One was asked for."""
    for listener in _listeners:
        listener()
