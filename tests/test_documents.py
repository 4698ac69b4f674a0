"""What documents name exists: paths, symbols, words of pages, variables, commands, targets."""

import ast
import fnmatch
import re
import subprocess
import tomllib
from functools import cache
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

from cluster.management.bivouac import COMMANDS
from cluster.management.given_options import variable_of
from cluster.versions import VERSION
from dashboard.rights import TOPICS

ROOT = Path(__file__).resolve().parent.parent
ENTRY = [
    path
    for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")
    if (path := ROOT / name).is_file()
]
MAPS = [ROOT / name / "README.md" for name in ("scheduler", "cluster", "dashboard")]
#: The specification and the drawings it came from name files of others too; their references to
#: each other are walked by `test_references.py`.
DOCUMENTS = [
    *ENTRY,
    *MAPS,
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "decisions").glob("*.md")),
]
SOURCES = [
    path
    for name in ("cluster", "dashboard", "scheduler")
    for path in sorted((ROOT / name).rglob("*.py"))
    if "migrations" not in path.parts
]
READERS = {
    "env_text",
    "env_address",
    "env_needed",
    "env_pairs",
    "env_bool",
    "env_int",
    "env_float",
    "env_secret",
    "env_words",
    "env_origin",
}
#: Of the system and of Django, not switches of Bivouac.
FOREIGN = {"PATH", "DJANGO_SETTINGS_MODULE", "XDG_DATA_HOME"}
#: Of Django's commands, and of `runagent` what has no variable.
COMMON_OPTIONS = {
    "help", "version", "verbosity", "settings", "pythonpath", "traceback", "no-color",
    "force-color", "skip-checks", "join", "token", "systemd", "install",
}  # fmt: skip
#: What a running Bivouac makes.
MADE_LATER = (".venv", ".bivouac", "openapi.json")

each_document = pytest.mark.parametrize(
    "path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT))
)


@cache
def prose(path: Path) -> str:
    """The document without drawings and console lines."""
    return re.sub(r"^```.*?^```", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)


def code_words(path: Path) -> list[str]:
    return re.findall(r"`([^`\n]+)`", prose(path))


def names_a_path(word: str) -> bool:
    if not re.fullmatch(r"[\w.*{},/-]+(::[\w.]+)?", word) or word.startswith(("/", *MADE_LATER)):
        return False
    file = word.partition("::")[0]
    return bool(re.search(r"\.(py|md|html|js|mjs|css|lock|toml|hcl|json|txt)$", file)) or (
        "/" in file and file.split("/")[0] in {path.name for path in ROOT.iterdir()}
    )


def spread(word: str) -> list[str]:
    """`a/{b,c}.py` as both paths."""
    found = re.search(r"\{([^}]*)\}", word)
    if not found:
        return [word]
    return [word.replace(found[0], part, 1) for part in found[1].split(",")]


@cache
def all_paths() -> list[str]:
    """Every tracked file and every folder that holds one, from the root, with a leading slash."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    files = [Path(line) for line in listing.stdout.splitlines() if (ROOT / line).is_file()]
    folders = {folder for file in files for folder in file.parents}
    return [f"/{path}" for path in [*files, *folders]]


def files_at(path: str) -> list[Path]:
    """What is meant by a path, which may begin anywhere: a map names the files of its package."""
    found = fnmatch.filter(all_paths(), f"*/{path.strip('/')}")
    return [ROOT / name.lstrip("/") for name in found]


@each_document
def test_every_path_exists_and_holds_the_symbol_named_with_it(path):
    missing = []
    for word in filter(names_a_path, code_words(path)):
        name, _, symbol = word.partition("::")
        for one in spread(name):
            files = files_at(one)
            if not files:
                missing.append(one)
            elif symbol and not any(
                re.search(rf"\b{symbol.rpartition('.')[2]}\b", file.read_text())
                for file in files
                if file.is_file()
            ):
                missing.append(word)
    assert missing == []


@each_document
def test_every_link_leads_somewhere(path):
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", prose(path))
    local = [link for link in links if not link.startswith(("http://", "https://"))]
    assert [link for link in local if not (path.parent / link).exists()] == []


@pytest.mark.parametrize("path", ENTRY, ids=lambda path: path.name)
def test_every_button_and_menu_is_on_a_page(path):
    pages = [*(ROOT / "templates").rglob("*.html"), *(ROOT / "dashboard").rglob("*.py")]
    shown = "\n".join(page.read_text() for page in pages)
    words = [
        word
        for words in re.findall(r"(?<![*\w])\*([^*\n]+)\*(?![*\w])", prose(path))
        for word in words.split(" → ")
    ]
    assert [w for w in words if not re.search(rf"[>\"}}]\s*{re.escape(w)}\s*[<\"{{]", shown)] == []


def test_the_readme_takes_every_example_by_a_name_that_exists():
    names = {file.name.removesuffix(".nomad.hcl") for file in (ROOT / "examples").iterdir()}
    text = (ROOT / "README.md").read_text()
    taken = set(re.findall(r"(?:Take|Run|take|submit) `([\w-]+)`", text))
    assert taken
    assert taken <= names


@cache
def variables_read() -> set[str]:
    found = set()
    for source in SOURCES:
        for node in ast.walk(ast.parse(source.read_text())):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            called, first = ast.unparse(node.func), node.args[0]
            is_reader = called in READERS or called == "os.environ.get"
            if is_reader and isinstance(first, ast.Constant):
                found.add(first.value)
    options = option_names("runagent") - COMMON_OPTIONS
    return (found | {variable_of(option) for option in options}) - FOREIGN


def test_variables_are_read_in_a_way_that_this_test_sees():
    calls = re.compile(r"os\.environ(?!\.get\(|\.setdefault\(|[,})])|getenv")
    others = {
        str(source.relative_to(ROOT)): calls.findall(source.read_text())
        for source in SOURCES
        if calls.search(source.read_text())
    }
    assert others == {}


def test_the_settings_name_every_variable_that_is_read_and_no_other():
    text = (ROOT / "docs" / "settings.md").read_text()
    listed = re.findall(r"^\| `([A-Z_]+)` \|", text, re.MULTILINE)
    assert len(listed) == len(set(listed))
    assert set(listed) == variables_read()


@each_document
def test_every_variable_named_is_read(path):
    named = set(re.findall(r"\b(BIVOUAC_[A-Z_]+[A-Z])\b", path.read_text()))
    assert named <= variables_read()


@cache
def option_names(command: str) -> set[str]:
    parser = load_command_class(get_commands()[command], command).create_parser(
        "manage.py", command
    )
    assert parser.format_help()
    return set(re.findall(r"(?<![\w-])--([\w-]+)", parser.format_help()))


@each_document
def test_every_command_runs_with_help_and_knows_its_options(path):
    text = path.read_text()
    uses = re.findall(r"manage\.py (\w+)([^`\n|]*)", text)
    unknown = [command for command, _ in uses if command not in get_commands()]
    assert unknown == []
    wrong = [
        f"{command} --{option}"
        for command, rest in uses
        for option in re.findall(r"--([\w-]+)", rest.partition("#")[0])
        if option not in option_names(command)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "path",
    [*DOCUMENTS, *sorted((ROOT / "examples").rglob("*.hcl"))],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_every_word_after_bivouac_is_a_command_of_it(path):
    words = re.findall(r"(?<![\w/.-])bivouac ([a-z][a-z-]*)", path.read_text())
    assert {*words} <= {front.name for front in COMMANDS} | {"completion"}


@each_document
def test_every_target_of_make_exists(path):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    text = path.read_text()
    named = set(re.findall(r"`make ([a-z-]+)`", text)) | set(
        re.findall(r"^\$ make ([a-z-]+)", text, re.MULTILINE)
    )
    assert named <= targets


@pytest.mark.parametrize(
    ("contract", "package"),
    [
        ("Inside the mind", "scheduler"),
        ("Inside the body", "cluster"),
        ("Inside the eyes", "dashboard"),
    ],
)
def test_a_map_names_every_part_of_its_package(contract, package):
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (layers,) = (each["layers"] for each in told["contracts"] if each["name"] == contract)
    parts = {part.partition(".")[0] for layer in layers for part in re.findall(r"[\w.]+", layer)}
    text = (ROOT / package / "README.md").read_text()
    assert [part for part in sorted(parts) if not re.search(rf"\b{part}\b", text)] == []


def test_the_map_of_the_pages_names_every_topic():
    told = (ROOT / "dashboard" / "README.md").read_text().partition("\nTopics: ")[2]
    named = re.findall(r"`([a-z-]+)", told.partition("\n\n")[0])
    assert sorted(named) == sorted(TOPICS)


UNITS = {"KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}


def numbers_told(cell: str) -> list[float]:
    """The numbers of a cell of defaults: `24, 2 GiB` as 24 and 2147483648."""
    parts = [part.strip() for part in cell.split(",")]
    found = [re.fullmatch(r"([\d ]+?)(?: ([KMG]iB))?", part) for part in parts]
    return [
        float(each[1].replace(" ", "")) * UNITS.get(each[2], 1)
        for each in found
        if each is not None
    ]


def test_the_settings_tell_the_numbers_that_are_used():
    used = {}
    for node in ast.walk(ast.parse((ROOT / "cluster" / "settings.py").read_text())):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {"env_int", "env_float"}:
            used[node.args[0].value] = eval(ast.unparse(node.args[1]))  # noqa: S307 - our own
    wrong, seen = [], 0
    for line in (ROOT / "README.md").read_text().splitlines():
        cells = line.split("|")
        names = re.findall(r"`([A-Z_]+)`", cells[1]) if line.startswith("| `") else []
        wanted = [float(used[name]) for name in names if name in used]
        if wanted:
            told = numbers_told(cells[2])
            seen += 1
            wrong += [line] if told != wanted else []
    assert (wrong, seen > 2) == ([], True)


def test_the_changelog_leads_to_the_version_that_is_told():
    heads = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    released = [head for head in heads if not head.endswith("- unreleased")]
    assert heads[-len(released) :] == released
    assert len(heads) <= len(released) + 1
    assert released[0] == f"{VERSION} ({released[0].partition('(')[2]}"


def test_the_list_of_decisions_is_of_the_pages_that_are_there():
    folder = ROOT / "docs" / "decisions"
    pages = {page.name for page in folder.glob("0*.md")}
    listed = dict(re.findall(r"\[(.+)\]\((0\d{3}-.+?\.md)\)", (folder / "README.md").read_text()))
    assert set(listed.values()) == pages
    for page in pages:
        text = (folder / page).read_text()
        assert re.search(r"^Decided \d{4}-\d\d-\d\d\.$", text, re.MULTILINE), page
