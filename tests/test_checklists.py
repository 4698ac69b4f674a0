"""The checklists of CONTRIBUTING.md, walked: an example stands in exactly the files they list."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
GUIDE = (ROOT / "CONTRIBUTING.md").read_text()
SECTIONS = dict(re.findall(r"^### (Add .+?)\n(.*?)(?=^##|\Z)", GUIDE, re.DOTALL | re.MULTILINE))
#: What an example is called in the code, and which files only use it.
EXAMPLES = {
    "Add a noun": (
        r"\bAclPolicyRow\b|^ACL_POLICIES\b|class AclPolicy\b|noun=ACL_POLICIES\b",
        {"dashboard/people.py", "dashboard/admin/people.py"},
    ),
    "Add a trigger": (r"\bALLOC_RESCHEDULE\b|alloc-reschedule", set()),
    "Add a constraint operator": (
        r"\bsemver|\bSEMVER\b|satisfies_semver",
        {"cluster/jobspec/implied.py"},
    ),
    "Add a driver": (
        r"\bMockDriver\b|\bmock_driver\b",
        {
            "cluster/bench/job_forms.py",
            "cluster/bench/offline.py",
            "cluster/management/commands/runfleet.py",
        },
    ),
    "Add a page": (
        r'\bDrainsFeed\b|\bdrains_page\b|"drains/"|"/drains/" "draining"|dashboard/drains\.html',
        set(),
    ),
    "Add a metric": (r"\bplan_queue_depth\b", set()),
    "Add an endpoint": (r"\bread_usage\b", set()),
}
#: Listed for what an example may need as well.
GENERAL = {
    "cluster/agent/drivers/driver.py",
    "cluster/api/encode_rules.py",
}
SOURCES = [
    path
    for folder, kind in (
        ("scheduler", "py"), ("cluster", "py"), ("dashboard", "py"), ("templates", "html"),
    )
    for path in sorted((ROOT / folder).rglob(f"*.{kind}"))
    if not re.search(r"migrations/00(07|12)", str(path))
]  # fmt: skip


def listed(section):
    """Every path of a checklist, without the symbol behind it."""
    words = re.findall(r"`([^`\s]+)`", SECTIONS[section])
    return {word.partition("::")[0] for word in words if "/" in word and not word.startswith("/")}


def test_every_checklist_is_walked():
    assert set(SECTIONS) == set(EXAMPLES)


@pytest.mark.parametrize("section", EXAMPLES)
def test_an_example_stands_in_the_files_of_its_checklist(section):
    pattern, users = EXAMPLES[section]
    found = {
        str(path.relative_to(ROOT))
        for path in SOURCES
        if re.search(pattern, path.read_text(), re.MULTILINE)
    }
    assert found - users, "the example is nowhere"
    assert found - users <= listed(section)
    assert users <= found


@pytest.mark.parametrize("section", EXAMPLES)
def test_no_file_is_listed_that_an_example_does_not_touch(section):
    name = re.search(r"Example: `(?:GET /v1/)?([\w-]+?)s?[`/]", SECTIONS[section])[1]
    spelled = re.compile(re.sub("[-_]", "[-_/ ]?", name), re.IGNORECASE)
    untouched = [
        path
        for path in listed(section)
        if (ROOT / path).is_file() and not spelled.search(path + (ROOT / path).read_text())
    ]
    assert [path for path in untouched if path not in GENERAL] == []
