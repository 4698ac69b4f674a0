"""The version, where people look for it."""

import tomllib
from pathlib import Path

from cluster.versions import VERSION

ROOT = Path(__file__).resolve().parent.parent.parent.parent


def test_the_navigation_tells_the_version_of_the_project(browser):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert project["version"] == VERSION
    assert f"Bivouac {VERSION}</li>" in browser.get("/jobs/").text


def test_the_changelog_begins_with_this_version():
    titles = [
        line
        for line in (ROOT / "CHANGELOG.md").read_text().splitlines()
        if line.startswith("## ") and not line.endswith("unreleased")
    ]
    assert titles[0].startswith(f"## {VERSION} (20")
