"""The house rules that a machine can check: sizes, names, docstrings, the top level."""

import ast
import re
import subprocess
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TOP_LEVEL = {
    "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "SECURITY.md",
    "bivouac", "cluster", "dashboard", "docs", "examples", "manage.py", "pyproject.toml",
    "requirements-dev.lock", "requirements.lock", "scheduler", "static", "templates", "tests",
}  # fmt: skip
BANNED_NAMES = {"utils", "helpers", "common", "misc", "base", "manager", "service_", "handler"}
BANNED_NAMES |= {"data", "info"}
LIMITS = {".html": 150, ".js": 250, ".css": 300}


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree_of(path)))


@pytest.fixture(autouse=True, scope="module")
def _forget():
    """Millions of objects would slow down every collection of the tests that follow."""
    yield
    nodes_of.cache_clear()
    tree_of.cache_clear()


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
            for node in nodes_of(path)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and node.end_lineno - node.lineno + 1 > 60
        ]

    assert problems_in(SOURCES, check) == []


def imports_of(path: Path, modules: dict[str, Path]) -> set[str]:
    """The modules of ours that a file imports, wherever in the file it does."""
    found = set()
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= names if names <= set(modules) else names | {node.module}
    return found & set(modules)


def test_no_modules_import_each_other_in_a_circle():
    modules = {}
    for path in SOURCES:
        parts = path.relative_to(ROOT).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    graph = {name: imports_of(path, modules) - {name} for name, path in modules.items()}
    assert sum(len(imported) for imported in graph.values()) > len(graph)
    # Raises CycleError, with the circle.
    TopologicalSorter(graph).prepare()


def test_both_clocks_travel_as_one_moment():
    def check(path):
        for node in nodes_of(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                names = {arg.arg for arg in node.args.args + node.args.kwonlyargs}
                if names >= {"now", "monotonic"}:
                    yield f"{node.name} takes `now` and `monotonic`: take a Moment"

    assert problems_in(SOURCES, check) == []


def test_every_module_says_what_it_is_for_in_at_most_eight_lines():
    def check(path):
        docstring = ast.get_docstring(tree_of(path))
        if not docstring:
            return ["no module docstring"]
        return ["module docstring over 8 lines"] if len(docstring.splitlines()) > 8 else []

    assert problems_in(SOURCES, check) == []


def test_a_docstring_says_something_or_is_left_out():
    """An address or code may stand alone; a word or two of prose only repeat the name."""

    def check(path):
        return [
            f"{node.name}: {told}"
            for node in nodes_of(path)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            and (told := ast.get_docstring(node))
            and len(told.split()) < 3
            and not {"/", "`"} & set(told)
        ]

    assert problems_in(SOURCES, check) == []


def test_no_file_has_a_name_that_says_nothing():
    names = {str(path.relative_to(ROOT)) for path in SOURCES if path.stem in BANNED_NAMES}
    # Django asks for a database's backend by this name.
    assert names == {"cluster/store/postgresql/base.py"}


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


#: What marks a text for translation: the tags of the template language cannot be broken.
MARKS = re.compile(r'\{% translate "(.*?)" %\}|\{% (?:end)?blocktranslate.*?%\}|_\((".*?")\)')


def test_lines_of_templates_have_at_most_140_characters():
    def check(path):
        lines = enumerate(MARKS.sub(r"\1\2", path.read_text()).splitlines(), 1)
        return [f"line {n} has {len(line)} characters" for n, line in lines if len(line) > 140]

    assert problems_in([path for path in FILES if path.suffix == ".html"], check) == []


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


#: Statements, or the parts that they are put together from.
SQL = re.compile(
    r"\b(SELECT|DELETE) .*FROM\b|\bINSERT INTO\b|\bUPDATE \w+ SET\b|\b(ORDER|GROUP) BY\b|\bIN \("
    r"|\w (=|<|>|<=|>=|LIKE) %s|\bLIMIT (%s|\d)|\bPRAGMA\b",
    re.DOTALL,
)
SQL_ELSEWHERE = {
    "cluster/agent/agent_state.py": "an agent keeps its own tasks in a file of its own",
    "cluster/bench/moments.py": "measures a running cluster from outside, by its file",
    "cluster/bench/placements.py": "measures a running cluster from outside, by its file",
    "cluster/bench/target.py": "measures a running cluster from outside, by its file",
    "cluster/environment.py": "how every connection is opened",
    "scheduler/state/nouns.py": "which rows a partial index of the database holds",
}


def sql_in(path: Path) -> list[str]:
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    bodies = [node.body[0] for node in nodes_of(path) if isinstance(node, documented)]
    docstrings = {id(first.value) for first in bodies if isinstance(first, ast.Expr)}
    return [
        f"line {node.lineno}: {node.value[:60]!r}"
        for node in nodes_of(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        and id(node) not in docstrings and SQL.search(node.value)
    ]  # fmt: skip


def test_sql_is_written_in_the_store_only():
    store = ROOT / "cluster" / "store"
    outside = [path for path in SOURCES if store not in path.parents]
    excused = {ROOT / name for name in SQL_ELSEWHERE}
    assert problems_in([path for path in outside if path not in excused], sql_in) == []
    assert [path for path in sorted(excused) if not sql_in(path)] == [], "no longer excused"
    assert sql_in(store / "statements.py"), "it is recognised where it is"


#: Packages, pages and queues that were called rooms, when room was free capacity already.
OTHER_ROOMS = re.compile(
    r"\brooms\b|\b(?:this|that|which|one|each|only) room (?:that|of|is)\b|Room(?:Desk|Form)"
)
#: What was, and words of others.
ROOMS_TOLD = ("CHANGELOG.md", "tests/vectors", "tests/test_tidy.py", "docs/spec")


def test_nothing_but_free_capacity_is_called_a_room():
    def check(path):
        if path.relative_to(ROOT).as_posix().startswith(ROOMS_TOLD):
            return []
        return OTHER_ROOMS.findall(f"{path.stem}\n{path.read_text(errors='ignore')}")

    assert problems_in(FILES, check) == []


#: Who writes to the record beside operations, and what.
WRITERS = {
    "cluster/runtime/leader_desk.py": "outcomes of runs, many in one write",
    "cluster/runtime/plan_drainer.py": "plans, under two leases",
    "scheduler/plan_applier.py": "plans",
    "cluster/control_plane/plane.py": "outcomes of runs, in simulations and rehearsals",
    "cluster/rehearsal/stage.py": "room on a node, in the branch of a rehearsal",
    "cluster/bench/density.py": "a record of its own",
    "cluster/bench/rush_load.py": "a record of its own",
    "cluster/bench/offline.py": "a record of its own",
    "cluster/bench/pages_record.py": "a record of its own",
    "cluster/bench/rehearse_record.py": "a record of its own",
}


def writes_in(path: Path) -> list[str]:
    """Calls of `write` on a store."""
    return [
        ast.unparse(node.func)
        for node in nodes_of(path)
        if isinstance(node, ast.Call)
        and re.search(r"store(\(\))?\.a?write$", ast.unparse(node.func))
    ]


def test_the_record_is_written_by_operations_and_few_others():
    operations = ROOT / "cluster" / "operations"
    writing = {path for path in SOURCES if writes_in(path)}
    others = {
        path.relative_to(ROOT).as_posix() for path in writing if operations not in path.parents
    }
    assert others == set(WRITERS)
    assert len(writing - {ROOT / name for name in others}) > 10


def test_no_public_class_has_a_name_that_another_one_has():
    found: dict[str, list[str]] = {}
    # The client speaks to other people's programs, in the same words.
    for path in (path for path in SOURCES if ROOT / "bivouac" not in path.parents):
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    # Django finds management commands by this name.
    del found["Command"]
    twice = {name: places for name, places in found.items() if len(places) > 1}
    assert twice == {}
