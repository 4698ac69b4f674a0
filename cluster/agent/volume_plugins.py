"""Who makes directories on a node: the built-in `mkdir`, and executables of the node's owner.

In: a volume as it is asked for. Out: where it is and how large, or `PluginFailed` in the
reference's words (node-agent-2.md 7.2). Everything here may take its time.
"""

import contextlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from scheduler.structs.host_volume import DynamicVolume

MKDIR = "mkdir"
_VERSION = "0.0.1"
_FINGERPRINT_S, _RUN_S = 5.0, 55.0
_ID = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,126}")
_MODE = re.compile(r"[0-7]{1,4}")
_MKDIR_PARAMETERS = ("mode", "uid", "gid")
#: Of what a plugin prints, the part that is read.
_MOST_OUTPUT = 64 * 1024


class PluginFailed(Exception):
    """A plugin did not do what was asked; the text is shown to people."""


class MadeVolume(NamedTuple):
    """A volume as its plugin made it; 0 bytes: it does not say."""

    path: Path
    size: int


class VolumePlugin(Protocol):
    """One way to make directories."""

    version: str

    def create(self, volume: DynamicVolume) -> MadeVolume:
        """Make the volume, or find it made; the same each time. Raises PluginFailed."""

    def delete(self, volume: DynamicVolume) -> None:
        """Delete it with all that is in it; one that is gone is no mistake."""


class Mkdir:
    """A directory below the node's own, called by the volume's id."""

    version = _VERSION

    def __init__(self, root: Path) -> None:
        self._root = root

    def create(self, volume: DynamicVolume) -> MadeVolume:
        """With `mode` (octal, 0700), `uid` and `gid` (-1: as they come)."""
        unknown = sorted(set(volume.parameters) - set(_MKDIR_PARAMETERS))
        if unknown:
            raise PluginFailed(f'unknown mkdir parameter: "{unknown[0]}"')
        mode = _mode(volume.parameters.get("mode", "0700"))
        uid, gid = (_number(name, volume.parameters.get(name, "-1")) for name in ("uid", "gid"))
        path = self._root / volume.id
        if path.is_dir():
            return MadeVolume(path, 0)
        try:
            self._root.mkdir(parents=True, exist_ok=True, mode=0o711)
            path.mkdir()
            path.chmod(mode)
            if (uid, gid) != (-1, -1):
                os.chown(path, uid, gid)
        except OSError as problem:
            shutil.rmtree(path, ignore_errors=True)
            raise PluginFailed(f"mkdir: {problem}") from problem
        return MadeVolume(path, 0)

    def delete(self, volume: DynamicVolume) -> None:
        path = self._root / volume.id
        if not path.exists():
            return
        try:
            shutil.rmtree(path)
        except OSError as problem:
            raise PluginFailed(f"mkdir: {problem}") from problem


class Executable:
    """A program of the node's owner, run for each thing with a fixed environment alone."""

    def __init__(self, file: Path, root: Path, node_id: str) -> None:
        self._file = file
        self._root = root
        self._node_id = node_id
        told = self._run("fingerprint", {}, _FINGERPRINT_S)
        self.version = str(told.get("version") or "")
        if not self.version:
            raise PluginFailed(f'host volume plugin "{file.name}" tells no version')

    def create(self, volume: DynamicVolume) -> MadeVolume:
        """Its answer has to name a path."""
        sizes = {
            "DHV_CAPACITY_MIN_BYTES": str(volume.requested_capacity_min_bytes),
            "DHV_CAPACITY_MAX_BYTES": str(volume.requested_capacity_max_bytes),
        }
        told = self._about("create", volume, sizes)
        path, size = told.get("path"), told.get("bytes", 0)
        if not isinstance(path, str) or not Path(path).is_absolute():
            raise PluginFailed(f'host volume plugin "{self._file.name}" told no absolute path')
        if not isinstance(size, int) or isinstance(size, bool) or size < 0:
            raise PluginFailed(f'host volume plugin "{self._file.name}" told no size in bytes')
        return MadeVolume(Path(path), size)

    def delete(self, volume: DynamicVolume) -> None:
        self._about("delete", volume, {"DHV_CREATED_PATH": volume.host_path})

    def _about(
        self, operation: str, volume: DynamicVolume, more: dict[str, str]
    ) -> dict[str, object]:
        environment = {
            "DHV_NODE_POOL": volume.node_pool,
            "DHV_NAMESPACE": volume.namespace,
            "DHV_VOLUME_NAME": volume.name,
            "DHV_VOLUME_ID": volume.id,
            "DHV_NODE_ID": self._node_id,
            "DHV_PARAMETERS": json.dumps(volume.parameters),
            **more,
        }
        head = "creating" if operation == "create" else "deleting"
        try:
            told = self._run(operation, environment, _RUN_S)
        except PluginFailed as problem:
            text = f'error {head} volume "{volume.id}" with plugin "{self._file.name}": {problem}'
            raise PluginFailed(text) from problem
        return told

    def _run(self, operation: str, more: dict[str, str], patience: float) -> dict[str, object]:
        environment = {
            "DHV_OPERATION": operation,
            "DHV_VOLUMES_DIR": str(self._root),
            "DHV_PLUGIN_DIR": str(self._file.parent),
            **more,
        }
        try:
            run = subprocess.run(  # noqa: S603 - the node's owner put it there to be run
                [str(self._file), operation],
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=patience,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise PluginFailed(f"no answer within {patience:.0f} s") from None
        except OSError as problem:
            raise PluginFailed(str(problem)) from problem
        if run.returncode:
            said: object = ""
            # It may have said why, or have printed whatever it was at.
            with contextlib.suppress(PluginFailed):
                said = _object(run.stdout[:_MOST_OUTPUT]).get("error")
            raise PluginFailed(f"exit status {run.returncode}" + (f": {said}" if said else ""))
        told = _object(run.stdout[:_MOST_OUTPUT])
        if said := told.get("error"):
            raise PluginFailed(str(said))
        return told


def plugins_in(
    directory: Path, root: Path, node_id: str
) -> tuple[dict[str, VolumePlugin], list[str]]:
    """The plugins of a node by their ids, and what is wrong with the others."""
    found: dict[str, VolumePlugin] = {MKDIR: Mkdir(root)}
    problems: list[str] = []
    files = sorted(directory.iterdir()) if directory.is_dir() else []
    for file in files:
        if not file.is_file():
            continue
        if not _ID.fullmatch(file.name) or file.name == MKDIR:
            problems.append(f'no host volume plugin can be called "{file.name}"')
        elif not os.access(file, os.X_OK):
            problems.append(f'plugin not executable: "{file.name}"')
        else:
            try:
                found[file.name] = Executable(file, root, node_id)
            except PluginFailed as problem:
                problems.append(f'host volume plugin "{file.name}": {problem}')
    return found, problems


def _object(output: bytes) -> dict[str, object]:
    """What it printed as a JSON object; nothing at all is an empty one."""
    if not output.strip():
        return {}
    try:
        return msgspec.json.decode(output, type=dict[str, object])
    except msgspec.MsgspecError as problem:
        raise PluginFailed(f"it printed no JSON object: {problem}") from problem


def _mode(text: str) -> int:
    if not _MODE.fullmatch(text):
        raise PluginFailed(f'invalid value for "mode": "{text[:64]}" is no octal number')
    return int(text, 8)


def _number(name: str, text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = -2
    if not -1 <= number < 2**32:
        raise PluginFailed(f'invalid value for "{name}": "{text[:64]}" is no id')
    return number
