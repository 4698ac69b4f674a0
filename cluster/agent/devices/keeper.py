"""The devices of one node: told to the server, handed to tasks, measured.

In: what sources find, grants of the server. Out: groups for the node; for a task the variables and
files of exactly what it was granted; statistics in the shapes of the public API (http-api.md 5.5).
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from cluster.agent.devices.found import DeviceSource, FoundDevice, Told, device_groups
from cluster.agent.drivers.driver import HookFailed
from scheduler.structs.device import DeviceGrant, DeviceGroup


@dataclass(frozen=True)
class Reservation:
    """What one task is given."""

    env: dict[str, str] = field(default_factory=dict)
    files: tuple[str, ...] = ()


class DeviceKeeper:
    """What the machine had at the last look."""

    def __init__(self, sources: Sequence[DeviceSource] = ()) -> None:
        self._sources = tuple(sources)
        self._found: dict[tuple[str, str, str, str], tuple[DeviceSource, FoundDevice]] = {}

    def look(self) -> tuple[DeviceGroup, ...]:
        """What the node tells. Blocks; for a thread of its own."""
        found = [(source, each) for source in self._sources for each in source.look()]
        self._found = {(*each.group, each.id): (source, each) for source, each in found}
        return device_groups(each for _, each in found)

    def reservation(self, grants: Iterable[DeviceGrant]) -> Reservation:
        """What was granted, and nothing else. Raises HookFailed for what is not there now."""
        env: dict[str, list[str]] = defaultdict(list)
        files: dict[str, None] = {}
        problems = []
        for grant in grants:
            for device_id in grant.device_ids:
                source, device = self._of(grant, device_id)
                if source is None or device is None or device.fault:
                    why = device.fault if device else "it is not there any more"
                    name = f"{grant.vendor}/{grant.type}/{grant.name}"
                    problems.append(f'device "{device_id}" of {name}: {why}')
                    continue
                env[source.variable].append(device.id)
                files |= dict.fromkeys(device.files)
        if problems:
            raise HookFailed(f"devices: {'; '.join(problems)}", recoverable=True)
        return Reservation({name: ",".join(ids) for name, ids in env.items()}, tuple(files))

    def statistics(self, now: int, grants: Iterable[DeviceGrant] | None = None) -> list[Told]:
        """Of these devices, or of all; those that tell nothing are left out. Blocks."""
        if grants is None:
            wanted = list(self._found)
        else:
            wanted = [
                (each.vendor, each.type, each.name, one)
                for each in grants
                for one in each.device_ids
            ]
        found: dict[tuple[str, str, str], dict[str, object]] = {}
        for key in wanted:
            source, device = self._found.get(key, (None, None))
            told = source.measure(device) if source and device else None
            if told is not None:
                found.setdefault(key[:3], {})[key[3]] = {**told, "Timestamp": _moment(now)}
        return [
            {"Vendor": vendor, "Type": kind, "Name": name, "InstanceStats": instances}
            for (vendor, kind, name), instances in found.items()
        ]

    def _of(
        self, grant: DeviceGrant, device_id: str
    ) -> tuple[DeviceSource | None, FoundDevice | None]:
        key = (grant.vendor, grant.type, grant.name, device_id)
        return self._found.get(key, (None, None))


def _moment(now: int) -> str:
    """As the public API writes times that are texts."""
    return datetime.fromtimestamp(now / 1_000_000_000, UTC).isoformat().replace("+00:00", "Z")
