"""Keeps the server's list of this node's services as the allocations here have it.

In: word of each allocation that changed, a link to the server. Out: registrations there, all that
changed meanwhile in one call. What cannot be told is told later; nothing waits for it here.
"""

import logging

from cluster.agent.alloc_host import AllocHost
from cluster.agent.complaints import COMPLAINTS
from cluster.agent.cue import Cue
from cluster.agent.protocol import ReportServices
from cluster.agent.server_link import CallFailed, ServerLink
from cluster.agent.services import wanted_registrations
from scheduler.ports import Clock
from scheduler.structs.service_registration import ServiceRegistration

logger = logging.getLogger(__name__)

#: Seconds after a call that failed, doubled each time.
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 15.0
_IDLE_S = 3600.0
_UNREACHED = 0


class ServiceKeeper:
    """The registrations of one node."""

    def __init__(self, host: AllocHost, link: ServerLink, clock: Clock, server: str) -> None:
        self._host = host
        self._link = link
        self._clock = clock
        self._server = server
        self._wanted: dict[str, dict[str, ServiceRegistration]] = {}
        self._told: dict[str, ServiceRegistration] = {}
        self._news = Cue()
        #: The server is to hear of everything: of what it has besides nothing is known.
        self._is_fresh = True

    def look(self, alloc_id: str) -> None:
        """Something of the allocation changed, or it is gone."""
        entry = self._host.entries.get(alloc_id)
        wanted: dict[str, ServiceRegistration] = {}
        if entry is not None and not entry.waits_for:
            wanted = wanted_registrations(entry.runner, self._host.launcher.node())
        if wanted != self._wanted.get(alloc_id, {}):
            self._wanted[alloc_id] = wanted
            self._news.give()
        if not wanted:
            self._wanted.pop(alloc_id, None)

    def begin_anew(self) -> None:
        """The server may have dropped what it was told: the node was down for it, or is new."""
        self._is_fresh = True
        self._news.give()

    async def run(self) -> None:
        """Tell until cancelled."""
        pause = _FIRST_PAUSE_S
        while True:
            wanted = {key: each for of in self._wanted.values() for key, each in of.items()}
            message = self._message(wanted)
            if message is None:
                await self._news.pause(_IDLE_S)
                continue
            is_whole, self._is_fresh = message.is_whole, False
            try:
                await self._link.services(message)
            except CallFailed as problem:
                self._is_fresh = self._is_fresh or is_whole
                self._complain(problem)
                await self._news.pause(pause)
                pause = min(2 * pause, _LONGEST_PAUSE_S)
            else:
                self._told = wanted
                pause = _FIRST_PAUSE_S

    def _message(self, wanted: dict[str, ServiceRegistration]) -> ReportServices | None:
        """What the server does not know yet; None: it knows everything."""
        if self._is_fresh:
            return ReportServices(registered=tuple(wanted.values()), is_whole=True)
        new = tuple(each for key, each in wanted.items() if self._told.get(key) != each)
        ended = tuple(self._told.keys() - wanted.keys())
        if not new and not ended:
            return None
        return ReportServices(registered=new, ended=ended)

    def _complain(self, problem: CallFailed) -> None:
        now = self._clock.monotonic()
        if problem.status == _UNREACHED:
            COMPLAINTS.unreachable(self._server, str(problem), now)
        else:
            COMPLAINTS.failed(self._server, f"registering services failed: {problem}", now)
