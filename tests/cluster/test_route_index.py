"""The index of routes finds what Django finds, and tries few of them."""

import re

import pytest
from django.urls import get_resolver, re_path

from cluster.api.urls import urlpatterns
from cluster.route_index import RouteIndex

INDEX = RouteIndex("/v1/", urlpatterns)
ODD = [
    "/v1/", "/v1", "/v2/jobs", "/v1//jobs", "/v1/jobs/", "/v1/Jobs", "/v1/job/",
    "/v1/job/a/b/plan",
    "/v1/job/a\nb", "/v1/evaluation//allocations", "/v1/fleet/beat", "/v1/nowhere/at/all", "/v1/é",
    "/v1/node/pool/x/nodes", "/v1/acl/token/self", "/v1/var/a/b", "/v1/volumes", "/v1/job/x/tag",
]  # fmt: skip


def sample(pattern):
    """A path that a route of ours matches, with words in place of its groups."""
    text = pattern.removeprefix("^").removesuffix(r"\Z")
    text = re.sub(r"\(\?P<\w+>(\w+)(\|[\w|-]+)?\)", r"\1", text)
    text = re.sub(r"\(\?P<\w+>[^)]*\)|\[[^\]]*\][*+]", "some", text)
    return text.replace("\\.", ".")


def seen(match):
    return match and (match.func, match.args, match.kwargs)


@pytest.mark.parametrize(
    "path", ODD + sorted({f"/v1/{sample(str(route.pattern))}" for route in urlpatterns})
)
def test_it_finds_what_django_finds(path):
    found = INDEX.resolve(path)
    if found is not None:
        assert seen(found) == seen(get_resolver().resolve(path))


def test_nearly_every_route_is_found_by_its_word():
    paths = [f"/v1/{sample(str(route.pattern))}" for route in urlpatterns]
    # Two that begin with more than a word, which are rarely asked, and the one for any word.
    assert sum(INDEX.resolve(path) is None for path in paths) <= 3


def test_a_route_of_any_word_keeps_its_place():
    def first():
        """Of every word."""

    def second():
        """Of one."""

    index = RouteIndex("/", [re_path(r"^[a-z]+/x\Z", first), re_path(r"^word/x\Z", second)])
    assert index.resolve("/word/x").func is first
    index = RouteIndex("/", [re_path(r"^word/x\Z", second), re_path(r"^[a-z]+/x\Z", first)])
    assert index.resolve("/word/x").func is second
    # Django is asked for words that no route names.
    assert index.resolve("/other/x") is None
