"""The documentation's site: it builds, its made parts are current, its commands run."""

import contextlib
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from xml.dom import minidom

import httpx
import pytest

from cluster.runtime.embedded import free_port
from tests.drawings import FOLDER, drawings
from tests.settings_document import DOCUMENT, document

ROOT = Path(__file__).resolve().parent.parent
CONFIG = ROOT / ".ci" / "mkdocs.yml"
#: Of the pages that have any, in the order in which they are run.
PAGES = ("start.md", "operating.md")
_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(page: str) -> list[str]:
    return _BLOCK.findall((ROOT / "docs" / page).read_text())


def _shapes(files: dict[str, str]) -> dict[str, str]:
    style = re.compile(r"<style>.*?</style>", re.DOTALL)
    return {name: style.sub("", text) for name, text in files.items()}


def test_the_drawings_are_those_of_the_renderer():
    made = drawings()
    kept = {path.name: path.read_text() for path in FOLDER.iterdir()}
    # Colours follow the stylesheets with the next `make site`.
    assert _shapes(kept) == _shapes(made), "`python -m tests.drawings` draws them anew"
    for text in made.values():
        assert minidom.parseString(text).documentElement.tagName == "svg"  # noqa: S318 - our own
        used = set(re.findall(r'href="#([\w-]+)"|url\(#([\w-]+)\)', text))
        wanted = {name for pair in used for name in pair if name}
        assert wanted - set(re.findall(r'id="([\w-]+)"', text)) == set()
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)


def test_the_settings_are_those_that_are_read_and_each_has_a_meaning():
    text = document()
    assert DOCUMENT.read_text() == text, "`python -m tests.settings_document` writes it anew"
    bare = [row for row in text.splitlines() if row.startswith("| `") and row.endswith("|  |")]
    assert bare == []
    assert "| `BIVOUAC_WORKERS` | number | 2 | 1, 256 |" in text


def test_the_site_builds_strictly_and_leads_to_every_page(tmp_path):
    words = ["build", "--strict", "--quiet", "--config-file", str(CONFIG)]
    told = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "mkdocs", *words, "--site-dir", str(tmp_path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (told.returncode, told.stderr) == (0, "")
    start = (tmp_path / "index.html").read_text()
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")}
    assert {name for name in pages if f'"{name}.html"' not in start} - {"index"} == set()


def test_every_block_of_commands_is_on_a_page_that_is_run():
    found = {path.name for path in (ROOT / "docs").glob("*.md") if blocks(path.name)}
    assert found == set(PAGES)
    assert all(len(blocks(page)) > 2 for page in PAGES)


@pytest.mark.long
@pytest.mark.timeout(300)
def test_every_command_of_the_pages_runs(tmp_path):
    program = tmp_path / "bin" / "bivouac"
    program.parent.mkdir()
    program.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(ROOT)!r})\n"
        "from cluster.management.bivouac import main\nmain()\n"
    )
    program.chmod(0o755)
    data, port = tmp_path / "data", free_port()
    environment = {
        "PATH": f"{program.parent}:{os.environ['PATH']}", "HOME": str(tmp_path),
        "BIVOUAC_PORT": str(port), "BIVOUAC_DATA_DIR": str(data),
    }  # fmt: skip
    with subprocess.Popen([program, "up"], env=environment, cwd=tmp_path) as server:
        try:
            for _ in range(200):
                with contextlib.suppress(httpx.TransportError):
                    if httpx.get(f"http://127.0.0.1:{port}/login/").is_success:
                        break
                time.sleep(0.3)
            # One shell for all: later blocks use what earlier ones set.
            script = "\n".join(block for page in PAGES for block in blocks(page))
            told = subprocess.run(
                ["bash", "-euxo", "pipefail", "-c", script],
                env=environment, cwd=tmp_path, capture_output=True, text=True, check=False,
            )  # fmt: skip
        finally:
            server.terminate()
            server.wait(60)
    assert told.returncode == 0, told.stdout + told.stderr
    assert "bivouac agent --join" in told.stdout
    assert (tmp_path / "monday.bivouac").stat().st_size > 1000
