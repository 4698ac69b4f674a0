"""The wheel: what is in it, and that it runs from a fresh environment and any folder."""

import configparser
import contextlib
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
import zipfile
from pathlib import Path

import httpx
import pytest

from cluster.runtime.embedded import free_port
from cluster.versions import VERSION

ROOT = Path(__file__).resolve().parent.parent


def built(folder: Path, checkout: Path = ROOT) -> Path:
    """The wheel of a checkout, built without asking any index."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=checkout, check=True, capture_output=True,
    )  # fmt: skip
    (wheel,) = folder.glob("*.whl")
    return wheel


def tracked() -> set[str]:
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return {line for line in listing.stdout.splitlines() if (ROOT / line).is_file()}


def test_it_holds_the_packages_and_what_they_need_and_nothing_else(tmp_path):
    names = set(zipfile.ZipFile(built(tmp_path)).namelist())
    expected = set()
    for file in tracked():
        first = file.split("/")[0]
        if first in ("bivouac", "scheduler", "cluster", "dashboard"):
            expected.add(file)
        elif first in ("static", "templates", "examples"):
            expected.add(f"cluster/shared_files/{file}")
    about = f"bivouac-{VERSION}.dist-info/"
    assert {name for name in names if not name.startswith(about)} == expected
    assert any("/migrations/0001" in name for name in names)
    assert about + "licenses/LICENSE" in names


def test_it_installs_one_command_and_asks_for_what_the_project_asks_for(tmp_path):
    wheel = zipfile.ZipFile(built(tmp_path))
    points = configparser.ConfigParser()
    points.read_string(wheel.read(f"bivouac-{VERSION}.dist-info/entry_points.txt").decode())
    assert dict(points["console_scripts"]) == {"bivouac": "cluster.management.bivouac:main"}
    about = wheel.read(f"bivouac-{VERSION}.dist-info/METADATA").decode()
    asked = {project_of(line) for line in re.findall(r"Requires-Dist: (.*)", about)}
    wishes = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert {project_of(wish) for wish in wishes} <= asked


def project_of(wish):
    """The name of what is asked for, in the spelling of an index."""
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", wish)[0]).lower()


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The `bin` of a fresh environment that the wheel of a clean tree was installed in."""
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run(
        ["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(folder / "tree")], check=True
    )
    wheel = built(folder, folder / "tree")
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    pip = [str(folder / "venv/bin/pip"), "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, str(wheel)], check=True)
    return folder / "venv" / "bin"


def once(true, what: str, attempts: int = 300):
    """What `true` returns, as soon as that is something."""
    for _ in range(attempts):
        with contextlib.suppress(httpx.TransportError):
            if found := true():
                return found
        time.sleep(0.3)
    pytest.fail(f"{what} did not come")


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_fresh_environment_starts_everything_from_any_folder(installed, tmp_path):
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path), "BIVOUAC_PORT": str(port),
        "XDG_DATA_HOME": str(tmp_path / "kept"),
    }  # fmt: skip
    # A folder of somebody whose names are ours.
    folder = tmp_path / "elsewhere"
    (folder / "cluster").mkdir(parents=True)
    (folder / "cluster" / "__init__.py").write_text("raise SystemExit('the wrong one')")
    told = subprocess.run(
        [installed / "bivouac", "--help"],
        cwd=folder, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert VERSION in told.stdout
    with subprocess.Popen(
        [installed / "bivouac", "up"], cwd=folder, env=environment, stdout=subprocess.PIPE
    ) as process:
        try:
            page = once(lambda: httpx.get(f"{address}/login/").text, "the first page")
            sheet = re.search(r'href="(/static/[^"]+\.css)"', page)[1]
            assert len(httpx.get(address + sheet).content) > 100
            exported = (tmp_path / "kept/bivouac/env").read_text()
            token = {"X-Nomad-Token": re.search("NOMAD_TOKEN=(.*)", exported)[1]}
            once(
                lambda: "ready" in httpx.get(f"{address}/v1/nodes", headers=token).text,
                "the local node",
            )
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)
        said = process.stdout.read().decode()
    assert "`bivouac up` carries on" in said
    assert list(folder.iterdir()) == [folder / "cluster"]


@pytest.fixture(scope="module")
def upgraded(installed, tmp_path_factory):
    """The same in a further environment, of a later version; what it depends on is shared."""
    folder = tmp_path_factory.mktemp("upgraded")
    tree = installed.parent.parent / "tree"
    project = (tree / "pyproject.toml").read_text()
    (tree / "pyproject.toml").write_text(project.replace(f'"{VERSION}"', '"99.1.2"', 1))
    (folder / "dist").mkdir()
    wheel = built(folder / "dist", tree)
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    (site,) = (folder / "venv/lib").glob("python*/site-packages")
    (shared,) = (installed.parent / "lib").glob("python*/site-packages")
    pip = [str(folder / "venv/bin/pip"), "install", "--quiet", "--no-deps", str(wheel)]
    subprocess.run(pip, check=True)
    (site / "shared.pth").write_text(f"{shared}\n")
    return folder / "venv" / "bin"


@pytest.mark.long
@pytest.mark.timeout(600)
def test_tasks_outlive_the_upgrade_of_their_agent(installed, upgraded, tmp_path):
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "BIVOUAC_PORT": str(port)}
    kept = tmp_path / ".local/share/bivouac"
    command = [upgraded / "bivouac", "--version"]
    assert subprocess.check_output(command, env=environment, text=True) == "bivouac 99.1.2\n"

    def agent(where):
        words = ["agent", "--join", address, "--token", (kept / "join-token").read_text().strip()]
        words += ["--agent-dir", str(tmp_path / "agent"), "--raw-exec", "--node-name", "other"]
        return subprocess.Popen([where / "bivouac", *words], cwd=tmp_path, env=environment)

    server = subprocess.Popen([installed / "bivouac", "up", "--no-agent"], env=environment)
    running = [server]
    client = httpx.Client(base_url=f"{address}/v1")
    try:
        once(lambda: httpx.get(f"{address}/login/").text, "the first page")
        token = re.search("NOMAD_TOKEN=(.*)", (kept / "env").read_text())[1]
        client.headers["X-Nomad-Token"] = token
        running.append(agent(installed))
        once(lambda: "ready" in client.get("/nodes").text, "the node")
        task = {
            "Name": "t", "Driver": "raw_exec",
            "Config": {"command": "/bin/sleep", "args": ["600"]},
            "Resources": {"CPU": 50, "MemoryMB": 32},
        }  # fmt: skip
        job = {
            "ID": "long",
            "Datacenters": ["dc1"],
            "TaskGroups": [{"Name": "g", "Tasks": [task]}],
        }
        client.put("/jobs", json={"Job": job}).raise_for_status()
        (state,) = once(lambda: running_states(client), "the task")
        before = started(tmp_path / "agent")
        running[-1].send_signal(signal.SIGTERM)
        running.pop().wait(30)
        assert Path(f"/proc/{before}").exists()
        running.append(agent(upgraded))
        # It is followed by the new agent: what is done to it is heard of.
        once(lambda: "ready" in client.get("/nodes").text, "the node, again")
        assert started(tmp_path / "agent") == before
        assert running_states(client) == [state]
        os.kill(before, signal.SIGKILL)
        once(lambda: restarted(client), "the restart")
        client.delete("/job/long", params={"purge": "true"}).raise_for_status()
        once(lambda: not started(tmp_path / "agent"), "the end of the task")
    finally:
        client.close()
        for process in reversed(running):
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def running_states(client) -> list[str]:
    """When the job's running tasks started."""
    allocations = client.get("/job/long/allocations").json()
    states = [state for each in allocations for state in (each["TaskStates"] or {}).values()]
    return [state["StartedAt"] for state in states if state["State"] == "running"]


def restarted(client) -> bool:
    allocations = client.get("/job/long/allocations").json()
    return any(s["Restarts"] for each in allocations for s in (each["TaskStates"] or {}).values())


def started(directory: Path) -> int:
    """The process of the sleeping task below an agent's directory; 0: there is none."""
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (place / "cmdline").read_bytes().split(b"\0")
            inside = str((place / "cwd").readlink()).startswith(str(directory))
            if words[0] == b"/bin/sleep" and inside:
                return int(place.name)
    return 0
