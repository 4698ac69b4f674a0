"""Every route the specification names exists, is said not to be built, or is ruled out."""

import re

import pytest
from django.conf import settings
from django.http import HttpResponse
from django.test import RequestFactory
from django.urls import resolve
from django.utils.log import log_response

from cluster.api.not_built import NONE_THERE, NOT_BUILT, REFUSED
from cluster.api.request import unknown_path

SPEC = settings.BASE_DIR / "docs" / "spec"
CHAPTERS = ("http-api.md", "doors.md", "access.md")
#: What the chapters name that is no route of ours, and why.
RULED_OUT = {
    "": "the prefix of all routes",
    "acl/whoami": "the chapter says that there is no such route (access.md 6.5)",
    "client/": "the prefix of all routes of clients",
    "fleet": "the prefix of the routes of agents, which are no clients' (cluster/agent)",
    "jobs/": "no redirect: an empty 404 (http-api.md 1.1)",
    "operator/foo": "an example of what nobody knows (doors.md 14)",
    "client/fs/x/x": "stands for the verbs, which have rows of their own",
    "deployment/x/x": "stands for the verbs, which have rows of their own",
}


def named_paths():
    """Paths below `/v1/` in backticks, placeholders filled in."""
    found = set()
    for chapter in CHAPTERS:
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


#: Rows of the chapters that tell what a wrong method is answered with.
WRONG_METHODS = {
    ("DELETE", "node/pools"),
    ("GET", "namespace"),
    ("GET", "service/x/x"),
    # The row names the writing of a role with and without its id in brackets.
    ("GET", "acl/role"),
}
_VERBS = "GET|PUT|POST|DELETE"
_ROUTE = re.compile(rf"((?:{_VERBS})(?:\s*[,/|]\s*(?:{_VERBS}))*)[ `]*((?:`?[^`]*`(?:, )?)+)")


def told_methods():
    """Method and path of every row of the chapters' tables that begins with a route."""
    found = set()
    for chapter in CHAPTERS:
        for line in (SPEC / chapter).read_text().replace("\\|", "/").splitlines():
            cell = line.split("|")[1] if line.startswith("|") else ""
            for methods, quoted in _ROUTE.findall(cell):
                for path in re.findall(r"(/v1/[^`\s]*|…/[^`\s]*)", quoted):
                    plain = re.sub(r"<[^>]*>", "x", path.replace("…/", "job/x/"))
                    plain = re.split(r"[?\[*{]", plain.removeprefix("/v1/"))[0]
                    found |= {(method, plain) for method in re.findall(_VERBS, methods)}
    return sorted(found - WRONG_METHODS)


def test_every_method_the_chapters_tables_name_is_answered():
    told = told_methods()
    assert len(told) > 150
    unanswered = [
        (method, path)
        for method, path in told
        if method
        not in getattr(resolve(f"/{path}", urlconf="cluster.api.urls").func, "methods", ())
    ]
    assert unanswered == []


@pytest.mark.parametrize(("pattern", "sentence"), NOT_BUILT.items(), ids=list(NOT_BUILT))
async def test_what_is_not_built_says_so_for_every_method(api, pattern, sentence):
    path = re.sub(r"\(\?:[^)]*\)\?|s\?", "", pattern)
    path = re.sub(r"\(\?:([^|)]*)[^)]*\)", r"\1", path)
    path = path.replace("[^/]*", "x").replace(".*", "x")
    assert re.fullmatch(pattern, path)
    for method in ("GET", "PUT", "POST", "DELETE"):
        answer = await api.send(method, f"/v1/{path}")
        is_none = method == "GET" and pattern in NONE_THERE
        told = (404, NONE_THERE[pattern]) if is_none else (501, sentence)
        assert (answer.status, answer.text) == told


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", "volumes"),
        ("PUT", "agent/servers"),
        ("PUT", "agent/schedulers/config"),
        ("PUT", "operator/license"),
        ("PUT", "operator/autopilot/configuration"),
    ],
)
async def test_what_can_only_be_read_says_so(api, method, path):
    answer = await api.send(method, f"/v1/{path}")
    assert answer.status == 501
    assert re.fullmatch(r"[A-Z][^.]+(?:\.[^.]+)*\.", answer.text)


@pytest.mark.parametrize(("pattern", "sentence"), REFUSED.items(), ids=list(REFUSED))
async def test_what_the_references_open_edition_refuses_is_refused_in_its_words(
    api, pattern, sentence
):
    for method in ("GET", "PUT"):
        answer = await api.send(method, f"/v1/{pattern.replace('[^/]*', 'x')}")
        assert (answer.status, answer.text) == (400, sentence)


async def test_what_nobody_knows_stays_an_empty_answer(api):
    answer = await api.get("/v1/operator/foo")
    assert (answer.status, answer.content) == (404, b"")


@pytest.mark.parametrize(("status", "lines"), [(500, 1), (501, 0), (503, 1)])
def test_what_is_not_built_is_no_fault_in_the_log(caplog, status, lines):
    asked = RequestFactory().get("/v1/agent/pprof/heap")
    log_response("%s", "told", response=HttpResponse(status=status), request=asked)
    assert len(caplog.records) == lines
