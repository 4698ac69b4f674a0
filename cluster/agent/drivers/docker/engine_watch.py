"""Looks at the node's engine every half minute: whether it answers, and what it has of ours.

In: settings, the runs that are known. Out: what the node says of the driver. Containers with our
label that no task knows of are removed, as are those whose removal failed before.
"""

import socket
from collections.abc import Callable, Collection

import httpx
import msgspec

from cluster.agent.drivers.docker.container import (
    ALLOC_LABEL,
    OWNER_LABEL,
    PAUSE_LABEL,
    RUN_LABEL,
)
from cluster.agent.drivers.docker.image_keeper import ImageKeeper
from cluster.agent.drivers.docker.settings import DockerSettings
from cluster.agent.drivers.driver import healthy, unhealthy
from scheduler.structs.node import DriverInfo

_SECOND = 1_000_000_000
#: Seconds that an answer may take.
_PATIENCE_S = 10.0
#: Seconds that a container nothing knows of is left alone, and an agent is given to find its own
#: (node-agent-2.md 5.6).
GRACE_S = 300.0


class EngineWatch:
    """What one node knows of its engine."""

    def __init__(
        self,
        settings: DockerSettings,
        owner: str,
        known: Callable[[], Collection[str]],
        images: ImageKeeper,
    ) -> None:
        self._settings = settings
        self._owner = owner
        self._known = known
        self._images = images
        self._was_seen = False
        #: Nanoseconds; 0: not yet.
        self._began = 0

    def look(self, now: int) -> DriverInfo:
        """What the node says of the driver. Blocks; for a thread of its own."""
        if not self._settings.socket:
            return unhealthy("disabled", now)
        try:
            self._knock()
            with self._client() as client:
                info = client.get("/info").raise_for_status().json()
                self._began = self._began or now
                if now - self._began > GRACE_S * _SECOND:
                    self._sweep(client, now)
                    self._images.look(client, now)
        except (httpx.HTTPError, OSError, ValueError):
            found = unhealthy("Failed to connect to docker daemon", now)
            return msgspec.structs.replace(found, detected=self._was_seen)
        self._was_seen = True
        return msgspec.structs.replace(healthy("docker", now), attributes=self._attributes(info))

    def _attributes(self, info: dict[str, object]) -> dict[str, str]:
        runtimes = info.get("Runtimes")
        attributes = {
            "driver.docker": "1",
            "driver.docker.version": str(info.get("ServerVersion", "")),
            "driver.docker.os_type": str(info.get("OSType", "")),
            "driver.docker.runtimes": ",".join(sorted(runtimes or {}))
            if isinstance(runtimes, dict)
            else "",
        }
        if self._settings.volumes:
            attributes["driver.docker.volumes.enabled"] = "1"
        if self._settings.privileged:
            attributes["driver.docker.privileged.enabled"] = "1"
        if self._settings.pids_limit:
            attributes["driver.docker.pids.limit"] = str(self._settings.pids_limit)
        return {name: value for name, value in attributes.items() if value}

    def _sweep(self, client: httpx.Client, now: int) -> None:
        """Remove what is ours, has no task and is no newcomer."""
        label = f'{{"label":["{OWNER_LABEL}={self._owner}"]}}'
        asked = client.get("/containers/json", params={"all": "1", "filters": label})
        for container in asked.raise_for_status().json():
            age = now / _SECOND - int(container["Created"])
            if age > GRACE_S and not self._is_used(container["Labels"]):
                client.delete(f"/containers/{container['Id']}", params={"force": "1", "v": "1"})

    def _is_used(self, labels: dict[str, str]) -> bool:
        """By a run; what holds a network is made anew for the next one that needs it."""
        runs = self._known()
        if PAUSE_LABEL in labels:
            return any(run.startswith(f"{labels.get(ALLOC_LABEL)}/") for run in runs)
        return labels.get(RUN_LABEL) in runs

    def _knock(self) -> None:
        """Raises OSError where nobody listens; the library would leave its socket open."""
        with socket.socket(socket.AF_UNIX) as knocking:
            knocking.settimeout(_PATIENCE_S)
            knocking.connect(self._settings.socket)

    def _client(self) -> httpx.Client:
        transport = httpx.HTTPTransport(uds=self._settings.socket)
        return httpx.Client(
            transport=transport, base_url="http://localhost", timeout=_PATIENCE_S, trust_env=False
        )
