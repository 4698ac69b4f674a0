"""Removes images that this node had fetched and nobody uses any more (node-agent-2.md 5.6).

In: what was pulled or loaded here and was not there before, which runs start from what, the look
every half minute. What is ours is noted in a file, for a new agent knows nothing else of it.
"""

import contextlib
import json
import logging
import threading
from collections.abc import Collection
from pathlib import Path

import httpx

from cluster.agent.drivers.docker.engine import CONFLICT, NOT_FOUND
from cluster.agent.task_process import write_atomically

logger = logging.getLogger(__name__)
_SECOND = 1_000_000_000


class ImageKeeper:
    """The images of one node's engine that are this agent's to remove.

    The look comes from a thread of its own; whoever is about to use an image waits until a removal
    that has begun is over.
    """

    def __init__(self, note: Path | None, delay_s: float | None) -> None:
        #: Seconds; None: nothing is ever removed.
        self._delay_s = delay_s
        self._note = note
        self._lock = threading.Lock()
        #: By the engine's id: the references that it was fetched by.
        self._ours: dict[str, set[str]] = _read(note)
        self._users: dict[str, str] = {}
        #: When a look found it unused first.
        self._idle: dict[str, int] = {}

    @property
    def ours(self) -> frozenset[str]:
        """The engine's ids of what may be removed one day."""
        return frozenset(self._ours)

    def wanted(self, reference: str) -> None:
        """A task is about to start from it: its delay begins anew. May wait; for a thread."""
        with self._lock:
            for image, references in self._ours.items():
                if reference in references:
                    self._idle.pop(image, None)

    def fetched(self, image: str, reference: str, before: Collection[str]) -> None:
        """It came by a pull or a load; `before`: the ids that the engine had, and the reference.

        What had that name before was somebody's, and so is what stands in its place.
        """
        if self._delay_s is None:
            return
        with self._lock:
            names = {name for found in self._ours.values() for name in found}
            if reference in before and reference not in names:
                return
            if image in before and image not in self._ours:
                return
            self._ours.setdefault(image, set()).add(reference)
            self._keep()

    def use(self, image: str, run: str) -> None:
        """That run of a task starts from it, or was found running."""
        self._users[run] = image

    def release(self, run: str) -> None:
        """That run is over."""
        self._users.pop(run, None)

    def look(self, client: httpx.Client, now: int) -> None:
        """Remove what nobody has used for the delay. Blocks. Raises httpx.HTTPError."""
        if self._delay_s is None:
            return
        with self._lock:
            used = set(dict(self._users).values())
            for image in list(self._ours):
                if image in used:
                    self._idle.pop(image, None)
                elif now - self._idle.setdefault(image, now) >= self._delay_s * _SECOND:
                    self._remove(client, image)

    def _remove(self, client: httpx.Client, image: str) -> None:
        """By our references alone: the engine lets go of it with the last one of anybody's."""
        for reference in sorted(self._ours[image]):
            found = client.get(f"/images/{reference}/json")
            if found.status_code == NOT_FOUND or found.json().get("Id") != image:
                # Of another image by now, or taken away by somebody.
                continue
            if not self._is_gone(client, reference):
                return
        left = client.get(f"/images/{image}/json")
        # A tag that moved on leaves the image without a name. One with names is somebody's.
        is_nameless = left.status_code != NOT_FOUND and not left.json().get("RepoTags")
        if is_nameless and not self._is_gone(client, image):
            return
        logger.info("image %s was not used any more", ", ".join(sorted(self._ours[image])))
        del self._ours[image]
        self._idle.pop(image, None)
        self._keep()

    def _is_gone(self, client: httpx.Client, name: str) -> bool:
        """Whether it was removed; not while a container of anybody's is made of it."""
        answer = client.delete(f"/images/{name}")
        if answer.is_error and answer.status_code not in (CONFLICT, NOT_FOUND):
            logger.warning("image %s cannot be removed: %s", name, answer.text.strip())
        return not answer.is_error or answer.status_code == NOT_FOUND

    def _keep(self) -> None:
        if self._note is not None:
            # A full disk loses the note: the image stays, which harms nobody.
            with contextlib.suppress(OSError):
                self._note.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(self._note, {key: sorted(own) for key, own in self._ours.items()})


def _read(note: Path | None) -> dict[str, set[str]]:
    if note is None:
        return {}
    try:
        found = json.loads(note.read_bytes())
        return {str(image): set(map(str, names)) for image, names in found.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}
