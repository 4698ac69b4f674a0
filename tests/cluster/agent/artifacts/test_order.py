"""What a source is taken for, what of it is shown, and where it may go."""

from pathlib import Path

import pytest

from cluster.agent.artifacts.order import ArtifactRefused, Limits, fetch_order
from cluster.agent.drivers.driver import TaskDirectories
from cluster.jobspec.artifact_sources import getter_of, is_fetched
from scheduler.structs.task_group import Artifact

HERE = TaskDirectories(root=Path("/allocs/a1/web"), shared=Path("/allocs/a1/alloc"))


def order(source="https://x.example/app.tgz", fill_in=lambda text: text, **fields):
    artifact = Artifact(getter_source=source, **fields)
    return fetch_order(artifact, fill_in, HERE, limits=Limits())


@pytest.mark.parametrize(
    ("source", "getter", "url", "part"),
    [
        ("https://x.example/a.zip", "https", "https://x.example/a.zip", ""),
        ("http://x.example/a.zip//bin/run", "http", "http://x.example/a.zip", "bin/run"),
        ("https://x.example/r.git", "git", "https://x.example/r.git", ""),
        ("git::https://x.example/r//sub", "git", "https://x.example/r", "sub"),
        ("git::ssh://git@x.example/r.git", "git", "ssh://git@x.example/r.git", ""),
        ("git@x.example:o/r.git", "git", "ssh://git@x.example/o/r.git", ""),
        ("github.com/o/r", "git", "https://github.com/o/r.git", ""),
        ("github.com/o/r//sub/dir", "git", "https://github.com/o/r.git", "sub/dir"),
        ("github.com/o/r?ref=v1", "git", "https://github.com/o/r.git", ""),
        ("https::https://x.example/r.git", "https", "https://x.example/r.git", ""),
    ],
)
def test_a_source_is_taken_apart(source, getter, url, part):
    made = order(source)
    assert (made.getter, made.url, made.part) == (getter, url, part)


def test_options_of_ours_leave_the_address_and_others_go_to_the_server():
    made = order(
        "https://x.example/a?version=2&archive=zip",
        getter_options={"checksum": "md5:00", "region": "eu"},
    )
    assert made.url == "https://x.example/a?version=2&region=eu"
    assert made.options == {"archive": "zip", "checksum": "md5:00"}
    assert order("github.com/o/r?ref=v1").options == {"ref": "v1"}


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("", "source must be specified"),
        ("file:///etc/passwd", "download not supported for scheme 'file'"),
        ("s3::https://s3.amazonaws.com/b/k", "download not supported for scheme 's3'"),
        ("gcs::https://x/b", "download not supported for scheme 'gcs'"),
        ("hg::https://x/b", "download not supported for scheme 'hg'"),
        ("git::file:///srv/r.git", "git repositories are read over http, https and ssh"),
        ("app.tgz", "invalid URL: app.tgz"),
        ("https:///app.tgz", "invalid URL: https:///app.tgz"),
        ("https://x.example/a.zip//../..", "leads out of what is fetched"),
    ],
)
def test_what_cannot_be_fetched_is_refused_by_name(source, why):
    with pytest.raises(ArtifactRefused) as told:
        order(source)
    assert str(told.value).startswith(f'failed to download artifact "{source}": ')
    assert why in str(told.value)


@pytest.mark.parametrize(
    ("asked", "place"),
    [
        ("local/", "/allocs/a1/web/local"),
        ("", "/allocs/a1/web/local"),
        ("../alloc/data/x", "/allocs/a1/alloc/data/x"),
        ("/local/x", "/allocs/a1/web/local/x"),
        ("${D}/x", "/allocs/a1/web/local/x"),
    ],
)
def test_a_destination_lies_in_the_allocation(asked, place):
    made = order(
        relative_dest=asked, fill_in=lambda text: text.replace("${D}", "/allocs/a1/web/local")
    )
    assert made.destination == place


@pytest.mark.parametrize("asked", ["../../b2/x", "local/../../../x", "/../../../etc"])
def test_a_destination_outside_is_refused(asked):
    with pytest.raises(ArtifactRefused, match="destination path escapes alloc directory"):
        order(relative_dest=asked)


def test_passwords_and_keys_are_not_shown():
    shown = order("git::https://kim:geheim@x.example/r?sshkey=abc&ref=v1").shown
    assert "geheim" not in shown
    assert "abc" not in shown
    assert "kim:redacted@x.example/r" in shown
    assert "ref=v1" in shown


def test_everything_is_filled_in_before_it_is_used():
    made = order(
        "https://x.example/${A}",
        fill_in=lambda text: text.replace("${A}", "v2"),
        getter_headers={"X-Of": "${A}"},
        getter_options={"filename": "${A}"},
        relative_dest="local/${A}",
    )
    assert made.url.endswith("/v2")
    assert made.headers == {"X-Of": "v2"}
    assert made.options == {"filename": "v2"}
    assert made.destination.endswith("/local/v2")
    assert made.key != order("https://x.example/v2").key
    assert made.key == made.key


@pytest.mark.parametrize(
    ("source", "getter", "fetched"),
    [
        ("https://x/a", "https", True),
        ("${attr.mirror}/a", "", True),
        ("s3::https://x/a", "s3", False),
        ("file:///a", "file", False),
        ("", "", False),
    ],
)
def test_planning_tells_what_no_node_fetches(source, getter, fetched):
    assert getter_of(source) == getter
    assert is_fetched(source) is fetched
