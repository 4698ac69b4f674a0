"""What a page costs to fetch: sizes are budgets, measured compressed."""

import gzip
import hashlib
import json
import re
from pathlib import Path

import pytest

STATIC = Path(__file__).resolve().parents[3] / "static"
KB = 1024


def packed(paths):
    return sum(len(gzip.compress(path.read_bytes(), 6)) for path in paths)


def imported(entry):
    """A module and everything it imports, lazily or not."""
    found = {entry}
    for name in re.findall(r'(?:from|import)\s*\(?\s*"(\.[^"]+)"', entry.read_text()):
        target = (entry.parent / name).resolve()
        if target not in found and "vendor" not in target.parts:
            found |= imported(target)
    return found


def test_the_scripts_of_any_page_fit_their_budget():
    scripts = imported(STATIC / "js/main.js") | {STATIC / "js/controllers/theme.js"}
    assert packed(scripts) <= 60 * KB
    # Nothing lies about that no page loads.
    assert scripts == set((STATIC / "js").rglob("*.js"))


def test_the_editor_bundle_fits_its_budget():
    assert packed([STATIC / "vendor/codemirror/editor.js"]) <= 160 * KB


def test_the_terminal_bundle_fits_its_budget():
    folder = STATIC / "vendor/xterm"
    assert packed([folder / "terminal.js", folder / "xterm.css"]) <= 160 * KB


def test_the_styles_of_a_page_are_small():
    assert packed((STATIC / "css").rglob("*.css")) <= 40 * KB


def test_every_style_sheet_stands_in_a_layer():
    for sheet in (STATIC / "css").rglob("*.css"):
        # They stand over Django's own styles of the admin, which are in no layer and beat any.
        if sheet.name in ("admin.css", "rehearsal.css"):
            continue
        rest = re.sub(r"/\*.*?\*/", "", sheet.read_text(), flags=re.DOTALL).strip()
        assert rest.startswith("@layer "), sheet.name


@pytest.mark.parametrize("name", ["codemirror", "xterm"])
def test_a_vendored_bundle_is_the_one_that_was_built(name):
    folder = STATIC / "vendor" / name
    manifest = json.loads((folder / "manifest.json").read_text())
    told = {file: each["sha256"] for file, each in manifest["files"].items()}
    built = {file: hashlib.sha256((folder / file).read_bytes()).hexdigest() for file in told}
    assert told == built
    assert {each.name for each in folder.iterdir()} == {"manifest.json", "LICENSES.txt", *told}
    licences = (folder / "LICENSES.txt").read_text()
    assert [item["name"] for item in manifest["packages"] if item["name"] not in licences] == []
    assert {item["license"] for item in manifest["packages"]} == {"MIT"}
