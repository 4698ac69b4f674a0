"""What a node's owner allows tasks of the driver `docker` (node-agent-2.md 5.6)."""

from pathlib import Path

import msgspec

#: Capabilities a container may be given: those of the engine itself.
ALLOWED_CAPABILITIES = (
    "audit_write", "chown", "dac_override", "fowner", "fsetid", "kill", "mknod",
    "net_bind_service", "net_raw", "setfcap", "setgid", "setpcap", "setuid", "sys_chroot",
)  # fmt: skip
#: Where an engine of the host listens.
ENGINE_SOCKET = "/var/run/docker.sock"


class DockerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The owner's word."""

    #: The path of the engine's socket; "": the driver is not offered.
    socket: str = ENGINE_SOCKET
    #: Containers may be shown directories of the host and volumes of the engine.
    volumes: bool = False
    privileged: bool = False
    capabilities: tuple[str, ...] = ALLOWED_CAPABILITIES
    #: What the engine may run containers by, where a job names one.
    runtimes: tuple[str, ...] = ("runc", "nvidia")
    #: Seconds after which an image that was fetched here, and nobody uses, goes; None: never.
    image_delay_s: float | None = 180.0
    #: Where is noted which those are; None: nowhere, an agent that starts anew knows of none.
    image_note: Path | None = None
    #: Most processes of one container; 0: no such limit.
    pids_limit: int = 0
