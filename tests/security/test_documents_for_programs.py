"""The texts of pages for programs: a token opens them as it opens `/v1`, and no page."""

import json

import pytest

from tests.cluster.api.clients import make_token


@pytest.fixture
def documents(world):
    """The addresses of one evaluation's texts."""
    eval_id = world.evaluations["default"].id
    return [
        f"/chains/{eval_id}.mmd",
        f"/chains/{eval_id}.json",
        f"/evaluations/{eval_id}/capsule.json",
    ]


def statuses(found):
    return [answer.status_code for answer in found]


@pytest.fixture
def secrets(store):
    """Of a manager's token, and of one for the namespace `team`."""
    return {"root": make_token(store, "root"), "team": make_token(store, "team", team="write")}


async def read(site, where, **headers):
    async with site(headers=headers) as client:
        return [await client.get(path) for path in where]


@pytest.mark.parametrize("header", ["X-Nomad-Token", "Authorization"])
async def test_a_program_reads_them_with_its_token(header, site, secrets, documents):
    secret = secrets["root"]
    value = secret if header == "X-Nomad-Token" else f"Bearer {secret}"
    chain, record, capsule = await read(site, documents, **{header: value})
    assert chain.text.startswith("flowchart")
    assert json.loads(record.text)["Evaluations"]
    # The scene has no snapshot to make a capsule of; who asks is let in all the same.
    assert capsule.status_code in {200, 404}
    assert capsule.headers["content-type"] != "text/html; charset=utf-8"


async def test_a_token_of_another_namespace_finds_nothing(site, secrets, documents):
    found = await read(site, documents, **{"X-Nomad-Token": secrets["team"]})
    assert statuses(found) == [404, 404, 403]


async def test_a_wrong_token_is_refused_as_text_and_not_sent_to_sign_in(site, store, documents):
    found = await read(
        site, documents, **{"X-Nomad-Token": "c0ffee00-0000-0000-0000-000000000000"}
    )
    assert statuses(found) == [403] * 3
    assert {answer.text for answer in found} == {"Permission denied"}


async def test_a_token_opens_no_page(site, secrets, world):
    where = ["/", "/jobs/", f"/evaluations/{world.evaluations['default'].id}/", "/admin/"]
    found = await read(site, where, **{"X-Nomad-Token": secrets["root"]})
    assert statuses(found) == [302] * len(where)
