"""The documentation's site: it builds, its made parts are current, its commands run."""

import argparse
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
from django.core.management import load_command_class

from cluster.management.bivouac import COMMANDS
from cluster.runtime.embedded import free_port
from tests.drawings import FOLDER, drawings
from tests.settings_document import DOCUMENT, document
from tests.site_hooks import BESIDE_THE_SOURCES

ROOT = Path(__file__).resolve().parent.parent
CONFIG = ROOT / ".ci" / "mkdocs.yml"
#: Of the pages that have any, in the order in which they are run.
PAGES = (
    "start.md", "jobs.md", "monitoring.md", "operating.md", "webhooks.md", "simulator.md",
    "backup.md",
)  # fmt: skip
#: All that the site shows.
SHOWN = [*(ROOT / "docs").rglob("*.md"), *(ROOT / name for name in BESIDE_THE_SOURCES)]
#: Pages with parts for a cluster that stands still: run when the server has ended.
STANDING_STILL = {"backup.md": "Put back"}
#: Lines of consoles that no block of `sh` runs, each with its reason.
NOT_RUN = {
    "$ make up": "it is `bivouac up` with an environment made first; the live tests start it",
    "$ make test": "it is what runs the tests",
    "$ . .bivouac/env": "a checkout's data directory; start.md runs the same with that of a wheel",
    "$ curl -s -H": "as the line above",
    "$ python -m build --wheel": "tests/test_wheel.py builds and installs it",
    "$ pipx install dist/bivouac-*.whl": "the same, into an environment of its own",
    "$ bivouac up": "the test starts it before it runs anything else",
    "$ bivouac demo": "tests/live/test_demo.py plays the demo",
    "$ bivouac --help": "tests/cluster/management/test_bivouac_command.py",
    "$ source <(bivouac completion bash)": "tests/cluster/management/test_bivouac_command.py",
    "$ bivouac agent --join": "it writes to /etc and starts a service of systemd",
}
_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_MERMAID = re.compile(r"^```mermaid\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_FENCE = re.compile(r"^ *```(\S*)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
#: A line that somebody would copy into a shell.
_TYPED = re.compile(r"(?:\$ |(?:\S*/)?(?:bivouac|manage\.py|nomad|python3?|curl|make|pip) )")
_HEADING = re.compile(r"^## ", re.MULTILINE)


def blocks(page: str, *, still: bool | None = None) -> list[str]:
    """Of a cluster that runs, or that stands still; or all of them."""
    parts = _HEADING.split((ROOT / "docs" / page).read_text())
    is_still = [part.partition("\n")[0] == STANDING_STILL.get(page) for part in parts]
    return [
        block
        for part, stands in zip(parts, is_still, strict=True)
        if still is None or stands is still
        for block in _BLOCK.findall(part)
    ]


def script(*, still: bool) -> str:
    return "\n".join(block for page in PAGES for block in blocks(page, still=still))


def _shapes(files: dict[str, str]) -> dict[str, str]:
    style = re.compile(r"<style>.*?</style>", re.DOTALL)
    return {name: style.sub("", text) for name, text in files.items()}


def test_the_drawings_are_those_of_the_renderer():
    made = drawings()
    kept = {path.name: path.read_text() for path in FOLDER.iterdir()}
    assert len(kept) > 15
    # Colours follow the stylesheets with the next `make site`.
    assert _shapes(kept) == _shapes(made), "`python -m tests.drawings` draws them anew"
    for text in (text for name, text in made.items() if name.endswith(".svg")):
        assert minidom.parseString(text).documentElement.tagName == "svg"  # noqa: S318 - our own
        used = set(re.findall(r'href="#([\w-]+)"|url\(#([\w-]+)\)', text))
        wanted = {name for pair in used for name in pair if name}
        assert wanted - set(re.findall(r'id="([\w-]+)"', text)) == set()
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
        shown = re.findall(r'href="#(i-[\w-]+)"', text)
        assert not shown or ".graph-icon" in text, "icons without their strokes are blots"


def test_the_drawings_are_made_by_the_command_that_the_site_runs(tmp_path):
    environment = {key: text for key, text in os.environ.items() if "DJANGO" not in key}
    command = [sys.executable, "-m", "tests.drawings", str(tmp_path)]
    subprocess.run(command, check=True, cwd=ROOT, env=environment)
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in FOLDER.iterdir()}


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
    found = {str(path.relative_to(ROOT)) for path in SHOWN if _BLOCK.search(path.read_text())}
    assert found == {f"docs/{page}" for page in PAGES}
    assert sum(len(blocks(page)) for page in PAGES) > 20
    for page, heading in STANDING_STILL.items():
        assert blocks(page, still=True), heading


def test_every_line_of_a_console_is_run_elsewhere_or_says_why_not():
    lines = [
        line
        for page in SHOWN
        for block in _CONSOLE.findall(page.read_text())
        for line in block.splitlines()
        if line.startswith("$ ")
    ]
    assert [line for line in lines if not line.startswith(tuple(NOT_RUN))] == []
    assert [known for known in NOT_RUN if not any(line.startswith(known) for line in lines)] == []
    for reason in NOT_RUN.values():
        for path in re.findall(r"tests/[\w/]+\.py", reason):
            assert (ROOT / path).is_file(), path


def test_every_other_block_is_of_a_kind_that_something_reads():
    kinds, typed = set(), []
    for path in SHOWN:
        for kind, text in _FENCE.findall(path.read_text()):
            kinds.add((path.name, kind))
            if kind not in {"sh", "console"}:
                typed += [(path.name, line) for line in text.splitlines() if _TYPED.match(line)]
    known = {"sh", "console", "mermaid", "python", "hcl", "yaml", "text"}
    assert {kind for _, kind in kinds} == known, "each block says of which kind it is"
    assert {name for name, kind in kinds if kind == "python"} == {"client.md"}
    assert typed == [], "what is typed stands in a block that is run"


def test_every_command_of_ours_that_is_named_exists_with_its_options():
    parsers = {
        front.name: load_command_class("cluster", front.behind).create_parser("b", front.name)
        for front in COMMANDS
    }
    wrong = []
    for page in [*(ROOT / "docs").glob("*.md"), ROOT / "README.md"]:
        for name, rest in re.findall(r"[`$ ]bivouac ([a-z-]+)([^`\n|]*)", page.read_text()):
            if name in {"completion", "is"} or name.startswith("--"):
                continue
            if name not in parsers:
                wrong.append(f"{page.name}: bivouac {name}")
                continue
            known = _options(parsers[name])
            used = re.findall(r"(?<!\S)--([\w-]+)", rest.partition("#")[0])
            wrong += [f"{page.name}: {name} --{each}" for each in used if each not in known]
    assert wrong == []


def _options(parser: argparse.ArgumentParser) -> set[str]:
    """Those of subcommands included."""
    found = set(re.findall(r"--([\w-]+)", parser.format_help()))
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                found |= _options(each)
    return found


@pytest.mark.parametrize("path", sorted((ROOT / "docs").glob("*.md")), ids=lambda path: path.name)
def test_no_drawing_in_text_has_what_mermaid_reads_as_the_end_of_a_line(path):
    drawings_in_text = re.findall(
        r"^```mermaid\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL
    )
    assert [text for text in drawings_in_text if ";" in text] == []


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
            told = _bash(script(still=False), environment, tmp_path)
        finally:
            server.terminate()
            server.wait(60)
    assert told.returncode == 0, told.stdout + told.stderr
    still = _bash(script(still=True), environment, tmp_path)
    assert still.returncode == 0, still.stdout + still.stderr
    assert "bivouac agent --join" in told.stdout
    assert (tmp_path / "monday.bivouac").stat().st_size > 1000


def _bash(
    text: str, environment: dict[str, str], folder: Path
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-euxo", "pipefail", "-c", text],
        env=environment, cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
