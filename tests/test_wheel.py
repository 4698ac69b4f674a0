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
        if first in ("scheduler", "cluster", "dashboard"):
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
    asked = {re.match(r"[\w-]+", line)[0] for line in re.findall(r"Requires-Dist: (.*)", about)}
    wishes = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert {re.match(r"[\w-]+", wish)[0] for wish in wishes} <= asked


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
