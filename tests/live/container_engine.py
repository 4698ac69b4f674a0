"""A real container engine for tests, with one image that needs no registry.

Docker, or podman where `BIVOUAC_TEST_ENGINE` is `podman`. Skipped, saying why, where the engine is
not there, no root to start it, or no static `busybox`.
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
    "setsid",
    "sleep",
    "wget",
    "yes",
)
READY_S = 30
#: podman's own limits ask for rights that a machine of tests may not have.
PODMAN_CONFIG = """
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
"""
IS_PODMAN = os.environ.get("BIVOUAC_TEST_ENGINE") == "podman"
PROGRAM = "podman" if IS_PODMAN else "dockerd"


def why_no_engine() -> str:
    """Why tests can start no engine here; "" where they can try."""
    if os.geteuid() != 0 or shutil.which(PROGRAM) is None or shutil.which("docker") is None:
        return f"no container engine can be started here: {PROGRAM}, docker and root are needed"
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
    log = (place / "engine.log").open("w")
    process = subprocess.Popen(
        # conmon notes where it stands that memory ran out: a file `oom`.
        _command(place, socket), cwd=place, stdout=log, stderr=log, start_new_session=True,
        env={**os.environ, "CONTAINERS_CONF": str(place / "containers.conf")},
    )  # fmt: skip
    try:
        _await_ready(process, socket, place / "engine.log")
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


def _command(place: Path, socket: Path) -> list[str]:
    if not IS_PODMAN:
        return [
            "dockerd", "--host", f"unix://{socket}", "--data-root", str(place / "data"),
            "--exec-root", str(place / "exec"), "--pidfile", str(place / "pid"),
        ]  # fmt: skip
    (place / "containers.conf").write_text(PODMAN_CONFIG)
    return [
        "podman", "--root", str(place / "data"), "--runroot", str(place / "run"),
        "--storage-driver", "vfs", "system", "service", "--time=0", f"unix://{socket}",
    ]  # fmt: skip


def containers(socket: Path) -> list[str]:
    """The names of all there are, ended ones too."""
    command = ["docker", "-H", f"unix://{socket}", "ps", "-a", "--format", "{{.Names}}"]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.split()


def processes_in(socket: Path, name: str) -> str:
    """The commands of all that runs in a container, as this machine has them, one a line.

    podman's own list of them wants a `ps` in the image.
    """
    command = ["docker", "-H", f"unix://{socket}", "inspect", "-f", "{{.State.Pid}}", name]
    first = subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()
    numbers = Path(f"/proc/{first}/ns/pid").readlink()
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (place / "ns/pid").readlink() == numbers:
                found.append((place / "cmdline").read_bytes().replace(b"\0", b" ").decode())
    return "\n".join(found)


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
