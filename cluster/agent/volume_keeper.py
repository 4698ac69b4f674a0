"""The volumes that were made on this node on demand: made, found again after a restart, deleted.

In: calls of the server. Out: directories that the node offers, and a registration for each change.
What is kept outlives the agent; each volume is made anew by its plugin before the node registers.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

import msgspec

from cluster.agent.agent_state import Storage
from cluster.agent.channel_client import AnswerRefused
from cluster.agent.volume_plugins import PluginFailed, VolumePlugin, plugins_in
from scheduler.structs.host_volume import DynamicVolume
from scheduler.structs.node import HostVolume

logger = logging.getLogger(__name__)
Body = dict[str, object]


class VolumeKeeper:
    """The made volumes of one node."""

    def __init__(
        self,
        root: Path,
        plugin_dir: Path,
        node_id: str,
        storage: Storage,
        static: Callable[[], Mapping[str, HostVolume]],
    ) -> None:
        """`static`: what the node offers by its configuration; those names are taken."""
        self._static = static
        self._storage = storage
        self._kept = {volume.id: volume for volume in storage.load_volumes()}
        #: What the node offers now, by name.
        self.offered: dict[str, HostVolume] = {}
        #: Called when that is something else.
        self.changed: Callable[[], None] = lambda: None
        self._turn = asyncio.Lock()
        self._plugins, problems = plugins_in(plugin_dir, root, node_id)
        for problem in problems:
            logger.warning(problem)
        for volume in self._kept.values():
            self._find(volume)

    @property
    def attributes(self) -> dict[str, str]:
        """How the node says which plugins it has."""
        return {
            f"plugins.host_volume.{name}.version": plugin.version
            for name, plugin in self._plugins.items()
        }

    @property
    def verbs(self) -> dict[str, Callable[[Body], AsyncIterator[bytes]]]:
        """What the server may ask."""
        return {
            "volume.create": self._answer_create,
            "volume.register": self._answer_register,
            "volume.delete": self._answer_delete,
        }

    async def _answer_create(self, body: Body) -> AsyncIterator[bytes]:
        volume = msgspec.convert(body, DynamicVolume)
        plugin = self._plugin_of(volume)
        async with self._turn:
            self._require_free(volume)
            try:
                made = await asyncio.to_thread(plugin.create, volume)
            except PluginFailed as problem:
                raise AnswerRefused(str(problem), 400) from problem
            self._keep(volume, made.path, made.size)
        yield msgspec.json.encode({"HostPath": str(made.path), "CapacityBytes": made.size})

    async def _answer_register(self, body: Body) -> AsyncIterator[bytes]:
        volume = msgspec.convert(body, DynamicVolume)
        path = Path(volume.host_path)
        async with self._turn:
            self._require_free(volume)
            if problem := _no_directory(volume):
                raise AnswerRefused(problem, 400)
            self._keep(volume, path, volume.capacity_bytes)
        told = {"HostPath": str(path), "CapacityBytes": volume.capacity_bytes}
        yield msgspec.json.encode(told)

    async def _answer_delete(self, body: Body) -> AsyncIterator[bytes]:
        volume = msgspec.convert(body, DynamicVolume)
        async with self._turn:
            kept = self._kept.get(volume.id, volume)
            # One that was only registered is its owner's: it is forgotten, and stays.
            if kept.plugin_id:
                plugin = self._plugin_of(kept)
                try:
                    await asyncio.to_thread(plugin.delete, kept)
                except PluginFailed as problem:
                    raise AnswerRefused(str(problem), 400) from problem
            self._kept.pop(kept.id, None)
            self._storage.delete_volume(kept.id)
            offered = self.offered.get(kept.name)
            if offered is not None and offered.id == kept.id:
                del self.offered[kept.name]
                self.changed()
        yield b"{}"

    def _keep(self, volume: DynamicVolume, path: Path, size: int) -> None:
        kept = msgspec.structs.replace(volume, host_path=str(path), capacity_bytes=size)
        self._storage.save_volume(kept)
        self._kept[kept.id] = kept
        self.offered[kept.name] = HostVolume(name=kept.name, path=str(path), id=kept.id)
        self.changed()

    def _find(self, volume: DynamicVolume) -> None:
        """Offer again what was offered before the restart; one that is lost is told in the log."""
        try:
            if volume.plugin_id:
                self._plugin_of(volume).create(volume)
            elif problem := _no_directory(volume):
                raise PluginFailed(problem)
        except (PluginFailed, AnswerRefused) as problem:
            logger.warning("a host volume is lost: %s", problem, extra={"volume": volume.name})
            return
        self.offered[volume.name] = HostVolume(
            name=volume.name, path=volume.host_path, id=volume.id
        )

    def _plugin_of(self, volume: DynamicVolume) -> VolumePlugin:
        plugin = self._plugins.get(volume.plugin_id)
        if plugin is None:
            raise AnswerRefused(f'no such plugin: "{volume.plugin_id}"', 400)
        return plugin

    def _require_free(self, volume: DynamicVolume) -> None:
        """A name stands for one volume."""
        holders = {each.id for each in self._kept.values() if each.name == volume.name}
        if volume.name in self._static() or holders - {volume.id}:
            raise AnswerRefused("volume name already exists on this node", 400)


def _no_directory(volume: DynamicVolume) -> str:
    """Why a registered volume cannot be offered; "": it can."""
    path = Path(volume.host_path)
    if not path.is_absolute():
        return f'could not verify host path for "{volume.name}": {path} is not absolute'
    if not path.is_dir():
        return f'could not verify host path for "{volume.name}": {path} is no directory'
    return ""
