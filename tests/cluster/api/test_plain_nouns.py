"""What each declaration of `plain_nouns` gives: a list, pages of it, a read, a wait."""

import asyncio

import pytest

from cluster.api.plain_nouns import PLAIN_NOUNS
from tests.cluster.api.clients import put

EACH = pytest.mark.parametrize("plain", PLAIN_NOUNS, ids=lambda plain: plain.list_path)


def row(plain, name):
    """A row with nothing but its key."""
    (column,) = plain.noun.key_columns
    return plain.noun.struct(**{column: name})


def told_keys(plain, listed):
    """The keys in a list, as it tells them; built-in rows left out."""
    (column,) = plain.noun.key_columns
    word = {"id": "ID", "name": "Name"}[column]
    return [each[word] for each in listed if each[word].startswith("some-")]


@pytest.fixture
def rows(store, plain):
    """Two rows, the later name first; the index of their write."""

    def work(change):
        for name in ("some-b", "some-a"):
            change.put(plain.noun, row(plain, name))

    return put(store, work)


@EACH
@pytest.mark.usefixtures("rows")
async def test_rows_are_listed_in_order_and_by_prefix(api, plain):
    listed = await api.get(f"/v1/{plain.list_path}")
    assert told_keys(plain, listed.json) == ["some-a", "some-b"]
    narrowed = await api.get(f"/v1/{plain.list_path}", prefix="some-b")
    assert told_keys(plain, narrowed.json) == ["some-b"]
    assert len(narrowed.json) == 1


@EACH
@pytest.mark.usefixtures("rows")
async def test_a_list_in_pages_goes_on_where_it_ended(api, plain):
    first = await api.get(f"/v1/{plain.list_path}", prefix="some-", per_page=1)
    if not plain.has_pages:
        assert told_keys(plain, first.json) == ["some-a", "some-b"]
        return
    token = first.headers["X-Nomad-NextToken"]
    rest = await api.get(f"/v1/{plain.list_path}", prefix="some-", per_page=1, next_token=token)
    assert [told_keys(plain, each.json) for each in (first, rest)] == [["some-a"], ["some-b"]]


@EACH
@pytest.mark.usefixtures("rows")
async def test_a_row_is_read_and_one_that_is_not_there_is_told(api, plain):
    read = await api.get(f"/v1/{plain.row_path}/some-a")
    assert told_keys(plain, [read.json]) == ["some-a"]
    missing = await api.get(f"/v1/{plain.row_path}/other")
    assert (missing.status, missing.text) == (404, plain.missing)


@EACH
async def test_who_waits_for_a_list_is_told_of_the_next_row(api, store, plain, rows):
    waiting = asyncio.create_task(api.get(f"/v1/{plain.list_path}", index=rows, wait="20s"))
    await asyncio.sleep(0.05)
    assert not waiting.done()

    def work(change):
        change.put(plain.noun, row(plain, "some-c"))

    later = await asyncio.to_thread(put, store, work)
    answer = await waiting
    assert (answer.headers["X-Nomad-Index"], told_keys(plain, answer.json)[-1]) == (
        str(later), "some-c",
    )  # fmt: skip
