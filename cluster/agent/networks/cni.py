"""Runs CNI plugins: the protocol of cni.dev/docs/spec, versions 0.3.1 to 1.0.0.

In: a list of plugins as its author wrote it, a namespace, ports. Out: the plugins' result, or what
they said went wrong. Everything here waits for processes: it belongs in a thread.
"""

import json
import os
import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: Seconds for one plugin.
TIMEOUT_S = 60.0
_VERSION_TIMEOUT_S = 3.0
_SEMVER = re.compile(r"^v?\d+(\.\d+){0,2}([-+][0-9A-Za-z.+-]+)?$")

#: JSON of others.
Json = dict[str, Any]


class CniError(Exception):
    """A plugin is missing, or said that something went wrong."""


@dataclass(frozen=True)
class Attachment:
    """One namespace's end of a network."""

    container_id: str
    namespace: str
    interface: str = "eth0"
    #: For the plugins, as `key=value`.
    arguments: Mapping[str, str] = field(default_factory=dict)
    #: What the list's plugins with such capabilities are given.
    capabilities: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Plugins:
    """The plugins of some directories; the first that has one of a name wins."""

    directories: tuple[Path, ...]

    def find(self, name: str) -> Path:
        """Where that plugin lies. Raises CniError."""
        for directory in self.directories:
            place = directory / name
            if place.is_file() and os.access(place, os.X_OK):
                return place
        places = ":".join(map(str, self.directories))
        raise CniError(f'failed to find plugin "{name}" in path [{places}]')

    def names(self) -> list[str]:
        """All there are."""
        found = set()
        for directory in self.directories:
            if directory.is_dir():
                found |= {each.name for each in directory.iterdir() if os.access(each, os.X_OK)}
        return sorted(found)

    def version(self, name: str) -> str:
        """What that plugin says of itself; "" where it says nothing like a version."""
        try:
            done = subprocess.run(  # noqa: S603 - of the node's owner
                [self.find(name)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={"PATH": os.environ.get("PATH", os.defpath)},
                timeout=_VERSION_TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired, CniError):
            return ""
        words = done.stdout.decode(errors="replace").split()
        return next((word for word in words if _SEMVER.match(word)), "")

    def add(self, network: Json, to: Attachment) -> Json:
        """Attach the namespace; the last plugin's result. Raises CniError of the first failure."""
        result: Json | None = None
        for plugin in network["plugins"]:
            result = self._call("ADD", network, plugin, to, result) or result
        return result or {}

    def check(self, network: Json, to: Attachment, result: Json) -> None:
        """Whether everything is as it was made. Raises CniError."""
        for plugin in network["plugins"]:
            self._call("CHECK", network, plugin, to, result)

    def delete(self, network: Json, to: Attachment, result: Json | None) -> None:
        """Take it away again, as far as it goes. Raises CniError with all that did not go."""
        problems = []
        for plugin in reversed(network["plugins"]):
            try:
                self._call("DEL", network, plugin, to, result)
            except CniError as problem:
                problems.append(str(problem))
        if problems:
            raise CniError("; ".join(problems))

    def _call(
        self, command: str, network: Json, plugin: Json, to: Attachment, before: Json | None
    ) -> Json | None:
        name = str(plugin.get("type", ""))
        order = _order(network, plugin, to, before)
        try:
            done = subprocess.run(  # noqa: S603 - of the node's owner
                [self.find(name)],
                input=json.dumps(order).encode(),
                capture_output=True,
                env=self._environment(command, to),
                timeout=TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired as problem:
            raise CniError(f'plugin "{name}" took longer than {TIMEOUT_S:.0f} s') from problem
        except OSError as problem:
            raise CniError(f'plugin "{name}": {problem}') from problem
        told = _decoded(done.stdout)
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip()
            text = _text_of(told) or said or f"exit code {done.returncode}"
            raise CniError(f'plugin type="{name}" failed ({command.lower()}): {text}')
        return told

    def _environment(self, command: str, to: Attachment) -> dict[str, str]:
        told = {"IgnoreUnknown": "true", **to.arguments}
        return {
            # Plugins start programs such as iptables.
            "PATH": with_system_programs(os.environ.get("PATH", os.defpath)),
            "CNI_COMMAND": command,
            "CNI_CONTAINERID": to.container_id,
            "CNI_NETNS": to.namespace,
            "CNI_IFNAME": to.interface,
            "CNI_PATH": ":".join(map(str, self.directories)),
            "CNI_ARGS": ";".join(f"{key}={value}" for key, value in told.items()),
        }


def with_system_programs(path: str) -> str:
    """The path, and where programs of the system's owner are."""
    places = path.split(":")
    return ":".join([*places, *(each for each in ("/usr/sbin", "/sbin") if each not in places)])


def _order(network: Json, plugin: Json, to: Attachment, before: Json | None) -> Json:
    """What one plugin of the list reads."""
    order = {key: value for key, value in plugin.items() if key != "capabilities"}
    order |= {"cniVersion": network.get("cniVersion", "0.4.0"), "name": network["name"]}
    wanted = plugin.get("capabilities") or {}
    given = {key: value for key, value in to.capabilities.items() if wanted.get(key)}
    if given:
        order["runtimeConfig"] = given
    if before is not None:
        order["prevResult"] = before
    return order


def _decoded(output: bytes) -> Json | None:
    try:
        told = json.loads(output)
    except ValueError:
        return None
    return told if isinstance(told, dict) else None


def _text_of(told: Json | None) -> str:
    said: Iterable[object] = ((told or {}).get(key) for key in ("msg", "details"))
    return ": ".join(str(each) for each in said if each)
