"""A real container engine for tests, with one image that needs no registry.

Skipped, saying why, where there is no `dockerd`, no root to start it, or no static `busybox`.
"""

import contextlib
import io
import os
import shutil
import subprocess
import tarfile
import time
from pathlib import Path

import pytest

IMAGE = "busybox:1.36"
#: Of the static busybox that the image is made of.
TOOLS = (
    "sh",
    "cat",
    "echo",
    "env",
    "head",
    "hostname",
    "httpd",
    "id",
    "ls",
    "sleep",
    "wget",
    "yes",
)
READY_S = 30


def why_no_engine() -> str:
    """Why tests can start no engine here; "" where they can try."""
    if os.geteuid() != 0 or shutil.which("dockerd") is None:
        return "no container engine can be started here: dockerd and root are needed"
    busybox = shutil.which("busybox")
    if busybox is None or b"statically" not in subprocess.run(
        ["file", "-L", busybox], capture_output=True, check=False
    ).stdout.replace(b"static-pie", b"statically"):
        return "no static busybox to make an image of"
    return ""


@contextlib.contextmanager
def real_engine(place: Path):
    """The socket of an engine with the image."""
    if why := why_no_engine():
        pytest.skip(why)
    busybox = str(shutil.which("busybox"))
    socket = place / "engine.sock"
    command = [
        "dockerd", "--host", f"unix://{socket}", "--data-root", str(place / "data"),
        "--exec-root", str(place / "exec"), "--pidfile", str(place / "pid"),
    ]  # fmt: skip
    log = (place / "dockerd.log").open("w")
    process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    try:
        _await_ready(process, socket, place / "dockerd.log")
        subprocess.run(
            ["docker", "-H", f"unix://{socket}", "import", "-", IMAGE],
            input=_root_of(Path(busybox)), check=True, capture_output=True,
        )  # fmt: skip
        yield socket
    finally:
        process.terminate()
        process.wait(30)
        log.close()
        # What a container left mounted is not for rmtree.
        subprocess.run(["umount", "-q", "-R", str(place / "data")], check=False)


def containers(socket: Path) -> list[str]:
    """The names of all there are, ended ones too."""
    command = ["docker", "-H", f"unix://{socket}", "ps", "-a", "--format", "{{.Names}}"]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.split()


def remove_container(socket: Path, name: str) -> None:
    """By force, as somebody beside the agent would."""
    command = ["docker", "-H", f"unix://{socket}", "rm", "-f", name]
    subprocess.run(command, capture_output=True, check=True)


def _await_ready(process: subprocess.Popen[bytes], socket: Path, log: Path) -> None:
    deadline = time.monotonic() + READY_S
    while True:
        asked = subprocess.run(
            ["docker", "-H", f"unix://{socket}", "info"], capture_output=True, check=False
        )
        if asked.returncode == 0 and b"Server Version" in asked.stdout:
            return
        if process.poll() is not None or time.monotonic() > deadline:
            tail = "; ".join(log.read_text().splitlines()[-3:])
            pytest.skip(f"the container engine does not come up here: {tail}")
        time.sleep(0.2)


def _root_of(busybox: Path) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add(busybox.resolve(), "bin/busybox")
        for tool in TOOLS:
            link = tarfile.TarInfo(f"bin/{tool}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            archive.addfile(link)
        for name in ("tmp", "etc"):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o1777
            archive.addfile(folder)
    return packed.getvalue()
