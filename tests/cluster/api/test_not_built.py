"""Every route the specification names exists, is said not to be built, or is ruled out."""

import re

import pytest
from django.conf import settings
from django.urls import resolve

from cluster.api.not_built import NOT_BUILT
from cluster.api.request import unknown_path

SPEC = settings.BASE_DIR / "docs" / "spec"
#: What the chapters name that is no route of ours, and why.
RULED_OUT = {
    "": "the prefix of all routes",
    "client/": "the prefix of all routes of clients",
    "jobs/": "no redirect: an empty 404 (http-api.md 1.1)",
    "operator/foo": "an example of what nobody knows (doors.md 14)",
    "client/fs/x/x": "stands for the verbs, which have rows of their own",
    "deployment/x/x": "stands for the verbs, which have rows of their own",
}


def named_paths():
    """Paths below `/v1/` in backticks, placeholders filled in."""
    found = set()
    for chapter in ("http-api.md", "doors.md"):
        text = (SPEC / chapter).read_text().replace("\\|", "|")
        for quoted in re.findall(r"`([^`\n]*/v1/[^`\n]*)`", text):
            path = re.search(r"/v1/([^\s`]*)", quoted)[1]
            path = re.split(r"[?\[…*{]", re.sub(r"<[^>]*>", "x", path))[0]
            head, slash, last = path.rpartition("/")
            found |= {head + slash + end for end in last.split("|")}
        suffixes = re.search(r"look at the \*\*suffix\*\* \((.*?)\); what is", text, re.DOTALL)
        for suffix in re.findall(r"`(/[^`]*)`", suffixes[1] if suffixes else ""):
            found.add("job/x" + re.sub(r"<[^>]*>", "x", suffix))
    return sorted(found)


def is_known(path):
    match = resolve(f"/{path}", urlconf="cluster.api.urls")
    swallowed = any("/" in value for name, value in match.kwargs.items() if name != "path")
    return match.func is not unknown_path and not swallowed


def test_every_route_of_the_specification_is_there_or_said_not_to_be():
    paths = named_paths()
    assert len(paths) > 150
    unknown = [path for path in paths if not is_known(path)]
    assert unknown == sorted(RULED_OUT)


@pytest.mark.parametrize(("pattern", "sentence"), NOT_BUILT.items(), ids=list(NOT_BUILT))
async def test_what_is_not_built_says_so_for_every_method(api, pattern, sentence):
    path = re.sub(r"\(\?:[^)]*\)\?|s\?", "", pattern)
    path = re.sub(r"\(\?:([^|)]*)[^)]*\)", r"\1", path)
    path = path.replace("[^/]*", "x").replace(".*", "x")
    assert re.fullmatch(pattern, path)
    for method in ("GET", "PUT", "POST", "DELETE"):
        answer = await api.send(method, f"/v1/{path}")
        assert (answer.status, answer.text) == (501, sentence)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", "volumes"),
    ],
)
async def test_what_can_only_be_read_says_so(api, method, path):
    answer = await api.send(method, f"/v1/{path}")
    assert answer.status == 501
    assert answer.text.endswith("not built yet.")


async def test_what_nobody_knows_stays_an_empty_answer(api):
    answer = await api.get("/v1/operator/foo")
    assert (answer.status, answer.content) == (404, b"")
