"""The files of an allocation in a browser: folders, texts, downloads, refusals."""

import html
import json

import pytest
from msgspec.structs import replace

from cluster.operations.agent_calls import LINKS, AgentRefused, NoPathToNode
from dashboard.queries.files import MOST_ENTRIES, PIECE, is_binary
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.writes.jobs import write_job
from scheduler.structs.allocation import ClientStatus
from tests.builders import SOME_MOMENT, make_allocation, make_job
from tests.dashboard.views.conftest import Browser
from tests.people import account, account_with

DIRECTORY = [
    {"Name": "work", "IsDir": True, "Size": 4096, "FileMode": "drwx", "ModTime": "2026"},
    {"Name": "a <b>.txt", "IsDir": False, "Size": 5, "FileMode": "-rw", "ModTime": "2026"},
]


def fact(size, name="app.toml"):
    return {"Name": name, "IsDir": False, "Size": size, "ModTime": "2026-11-22T20:51:00Z"}


class Agent:
    """Knows files by their paths."""

    def __init__(self, files):
        self.files = files
        self.asked = []

    async def call(self, _node_id, verb, body, _given=None):
        self.asked.append((verb, body))
        answer = self.files[verb]
        if isinstance(answer, Exception):
            raise answer
        for piece in answer if isinstance(answer, tuple) else (json.dumps(answer).encode(),):
            if isinstance(piece, Exception):
                raise piece
            yield piece


@pytest.fixture
def alloc(store, node):
    def fill(change):
        job = write_job(change, make_job(id="web"))
        alloc = make_allocation(
            job, node_id=node.id, node_name=node.name, job_create_index=job.create_index,
            client_status=ClientStatus.RUNNING,
        )  # fmt: skip
        put_found(change, replace(alloc, create_index=change.index, modify_index=change.index))
        return alloc

    return store.write(WriteKind.PLAN_RESULT, fill, now=SOME_MOMENT)[1]


@pytest.fixture
def agent(node):
    agents = []

    def connect(**files):
        agent = Agent({verb.replace("_", "."): each for verb, each in files.items()})
        LINKS.add((node.id,), agent)
        agents.append(agent)
        return agent

    yield connect
    for each in agents:
        LINKS.remove(each)


def test_a_folder_lists_what_lies_in_it_folders_first(browser, alloc, agent):
    agent(fs_ls=DIRECTORY)
    text = browser.get(f"/allocations/{alloc.id}/files/").text
    assert text.index("work") < text.index("a &lt;b&gt;.txt")
    assert "2 entries in this folder" in text
    assert "path=%2Fa+%3Cb%3E.txt" in text


def test_a_text_is_shown_piece_by_piece(browser, alloc, agent):
    asked = agent(fs_stat=fact(3 * PIECE), fs_ls=[], fs_readat=(b"<script>" + b"x" * 100,))
    answer = browser.get(f"/allocations/{alloc.id}/files/", path="/web/app.toml", offset=PIECE)
    assert "&lt;script&gt;xxx" in answer.text
    assert "<script>xxx" not in answer.text
    assert f"offset={2 * PIECE}" in html.unescape(answer.text)
    assert asked.asked[1] == (
        "fs.readat",
        {"AllocID": alloc.id, "Path": "/web/app.toml", "Offset": PIECE, "Limit": PIECE},
    )
    assert answer.headers["Cache-Control"] == "no-store"


def test_what_is_no_text_is_said(browser, alloc, agent):
    agent(fs_stat=fact(9), fs_ls=[], fs_readat=(b"\x7fELF\0\0\0\0\0",))
    text = browser.get(f"/allocations/{alloc.id}/files/", path="/web/app").text
    assert "This is no text" in text
    assert "<pre" not in text


def test_a_download_tells_its_length_and_is_never_shown(browser, alloc, agent):
    agent(fs_stat=fact(10), fs_readat=(b"01234", b"56789"))
    answer = browser.get(f"/allocations/{alloc.id}/file", path="/web/x.html")
    assert answer.text == "0123456789"
    assert answer.headers["Content-Length"] == "10"
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="x.html"'


def test_a_download_whose_agent_goes_away_does_not_end_as_if_it_were_whole(browser, alloc, agent):
    agent(fs_stat=fact(10), fs_readat=(b"01234", NoPathToNode()))
    with pytest.raises(NoPathToNode):
        browser.get(f"/allocations/{alloc.id}/file", path="/web/x")


def test_refusals_are_told_with_their_status(browser, alloc, agent):
    agent(fs_stat=fact(1), fs_ls=[], fs_readat=AgentRefused(403, "Reading secret file prohibited"))
    answer = browser.get(f"/allocations/{alloc.id}/files/", path="/web/secrets/key")
    assert (answer.status, "Reading secret file prohibited." in answer.text) == (403, True)
    answer = browser.get(f"/allocations/{alloc.id}/file", path="/web/secrets/key")
    assert (answer.status, answer.text) == (403, "Reading secret file prohibited.")


def test_a_node_that_is_away_is_said(browser, alloc):
    answer = browser.get(f"/allocations/{alloc.id}/files/")
    assert (answer.status, "Its node does not answer" in answer.text) == (200, True)
    assert browser.get(f"/allocations/{alloc.id}/file", path="/a").status == 424
    assert browser.get(f"/allocations/{alloc.id}/file/follow", path="/a").status == 424


def test_folders_of_secrets_are_marked_as_closed(browser, alloc, agent):
    agent(fs_stat={"IsDir": True}, fs_ls=[DIRECTORY[0] | {"Name": "secrets"}])
    assert "closed" in browser.get(f"/allocations/{alloc.id}/files/", path="/web").text


def test_a_folder_of_very_many_says_what_it_leaves_out(browser, alloc, agent):
    many = [fact(1, f"f{number:05}") for number in range(MOST_ENTRIES + 7)]
    agent(fs_ls=many)
    assert "and 7 more" in browser.get(f"/allocations/{alloc.id}/files/").text


def test_who_may_not_read_files_gets_no_page_and_the_agent_is_not_asked(store, alloc, agent):
    asked = agent(fs_ls=DIRECTORY)
    viewer = Browser(account(store, "viewer"))
    for path in ("files/", "file?path=/a", "file/follow?path=/a"):
        assert viewer.get(f"/allocations/{alloc.id}/{path}").status == 403
    assert asked.asked == []
    assert "/files/" not in viewer.get(f"/allocations/{alloc.id}/").text


@pytest.mark.parametrize(
    ("piece", "told"),
    [
        (b"plain", False),
        ("grün".encode(), False),
        ("grün".encode()[1:-1], False),
        ("ü".encode()[1:] + b"abcdefgh", False),
        (b"a\0b", True),
        (b"abcdefgh\xff\xfeabcdefgh", True),
        (b"", False),
    ],
)
def test_bytes_are_text_even_if_a_letter_is_cut(piece, told):
    assert is_binary(piece) is told


def test_the_page_of_the_allocation_has_a_place_for_them_that_reads_when_looked_at(
    browser, alloc, agent, store
):
    agent(fs_ls=DIRECTORY)
    address = f"/allocations/{alloc.id}/files/"
    assert f'data-fetched="{address}"' in browser.get(f"/allocations/{alloc.id}/").text
    part = browser.get(address, part="1").text
    assert part.startswith('<section class="panel" id="alloc-files"')
    assert f'data-fetched="{address}" data-fetched-whole' in part
    assert "On a page of its own" in part
    # By itself it is a page like others: its links lead on.
    whole = browser.get(address).text
    assert "data-fetched=" not in whole
    assert "On a page of its own" not in whole
    closed = Browser(account_with(store, 'namespace "default" { capabilities = ["read-job"] }'))
    place = closed.get(f"/allocations/{alloc.id}/").text
    assert "data-fetched" not in place
    assert "read-fs" in place.partition('id="alloc-files"')[2].partition("</section>")[0]


def test_what_cannot_be_read_is_told_in_the_place_as_well(browser, alloc):
    part = browser.get(f"/allocations/{alloc.id}/files/", part="1")
    assert "data-fetched-whole" in part.text
    assert 'data-state="failed"' in part.text
    assert part.status == 200


def test_a_refusal_is_the_answer_of_the_page_and_not_of_the_place(browser, alloc, agent):
    agent(fs_ls=AgentRefused(404, "no such file"), fs_stat=AgentRefused(404, "no such file"))
    address = f"/allocations/{alloc.id}/files/"
    assert browser.get(address).status == 404
    part = browser.get(address, part="1")
    assert part.status == 200
    assert part.context["problem"]
    assert part.context["problem"] in part.text
