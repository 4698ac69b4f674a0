"""The house rules that a machine can check: sizes, names, docstrings, the top level."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TOP_LEVEL = {
    "CHANGELOG.md", "LICENSE", "Makefile", "README.md", "cluster", "dashboard", "docs", "examples",
    "manage.py", "pyproject.toml", "requirements-dev.lock", "requirements.lock", "scheduler",
    "static", "templates", "tests",
}  # fmt: skip
BANNED_NAMES = {"utils", "helpers", "common", "misc", "base", "manager", "service_", "handler"}
BANNED_NAMES |= {"data", "info"}
LIMITS = {".html": 150, ".js": 250, ".css": 300}


def tracked() -> list[Path]:
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [ROOT / line for line in listing.stdout.splitlines() if (ROOT / line).is_file()]


FILES = tracked()
PYTHON = [path for path in FILES if path.suffix == ".py"]
SOURCES = [
    path for path in PYTHON if not {"tests", "migrations"} & set(path.relative_to(ROOT).parts)
]


def problems_in(paths: list[Path], check) -> list[str]:
    return [f"{path.relative_to(ROOT)}: {text}" for path in paths for text in check(path)]


def test_top_level_holds_only_what_is_allowed():
    tops = {path.relative_to(ROOT).parts[0] for path in FILES}
    assert {top for top in tops if not top.startswith(".")} <= TOP_LEVEL


def test_source_files_have_at_most_400_lines_and_test_files_600():
    def check(path):
        limit = 600 if "tests" in path.parts else 400
        count = len(path.read_text().splitlines())
        return [f"{count} lines, at most {limit}"] if count > limit else []

    files = [path for path in PYTHON if "migrations" not in path.parts]
    assert problems_in(files, check) == []


def test_functions_have_at_most_60_lines():
    def check(path):
        return [
            f"{node.name} has {node.end_lineno - node.lineno + 1} lines"
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and node.end_lineno - node.lineno + 1 > 60
        ]

    assert problems_in(SOURCES, check) == []


def test_every_module_says_what_it_is_for_in_at_most_eight_lines():
    def check(path):
        docstring = ast.get_docstring(ast.parse(path.read_text()))
        if not docstring:
            return ["no module docstring"]
        return ["module docstring over 8 lines"] if len(docstring.splitlines()) > 8 else []

    assert problems_in(SOURCES, check) == []


def test_no_file_has_a_name_that_says_nothing():
    names = [path.relative_to(ROOT) for path in SOURCES if path.stem in BANNED_NAMES]
    assert names == []


def test_noqa_and_type_ignore_carry_a_code_and_a_reason():
    marks = re.compile(r"#\s*(noqa|type: ignore)(?P<rest>[^\n]*)")

    def check(path):
        return [
            f"line {number}: {match.group(0)}"
            for number, line in enumerate(path.read_text().splitlines(), 1)
            for match in marks.finditer(line)
            if not re.match(
                r"(\[[a-z-]+(, ?[a-z-]+)*\]|: ?[A-Z]+[0-9]+(, ?[A-Z]+[0-9]+)*)\s+(-|#)\s*\w",
                match.group("rest"),
            )
        ]  # fmt: skip

    assert problems_in(SOURCES, check) == []


def test_no_unfinished_marks_and_no_praise_of_history():
    marks = re.compile(r"(?<!-)\b(TODO|FIXME|XXX|HACK|NotImplementedError)\b")

    def check(path):
        return [m.group(0) for m in marks.finditer(path.read_text())]

    assert problems_in([path for path in SOURCES if path.name != "test_tidy.py"], check) == []


@pytest.mark.parametrize("suffix", sorted(LIMITS))
def test_browser_files_stay_small(suffix):
    def check(path):
        count = len(path.read_text().splitlines())
        return [f"{count} lines, at most {LIMITS[suffix]}"] if count > LIMITS[suffix] else []

    files = [p for p in FILES if p.suffix == suffix and "vendor" not in p.parts]
    assert problems_in(files, check) == []


def test_colours_are_named_in_the_tokens_only():
    colour = re.compile(r"#[0-9a-fA-F]{3,8}\b(?![-\w])")

    def check(path):
        if path.name == "tokens.css" or "vendor" in path.parts:
            return []
        return [m.group(0) for m in colour.finditer(path.read_text())]

    assert problems_in([path for path in FILES if path.suffix == ".css"], check) == []


def test_templates_hold_no_inline_script_or_style():
    inline = re.compile(r"<script(?![^>]*\bsrc=)[^>]*>|<style|\sstyle=|\son[a-z]+=", re.IGNORECASE)

    def check(path):
        return [m.group(0) for m in inline.finditer(path.read_text())]

    assert problems_in([path for path in FILES if path.suffix == ".html"], check) == []


def test_nothing_names_the_machine_it_was_made_on():
    texts = {".py", ".md", ".toml", ".js", ".css", ".html", ".json", ".sh", ""}
    place = f"{ROOT}/"

    def check(path):
        return [place] if place in path.read_text(errors="ignore") else []

    files = [p for p in FILES if p.suffix in texts and "vendor" not in p.parts]
    assert problems_in(files, check) == []
