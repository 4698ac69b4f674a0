"""Variables through the API: written, read, refused, locked; sealed in the record."""

import msgspec
import pytest

from cluster.operations.acl_policies import put_policy
from scheduler.state.keyring_noun import ROOT_KEYS
from scheduler.state.variable_nouns import VARIABLES
from scheduler.structs.acl_policy import AclPolicy
from tests.callers import MANAGER
from tests.cluster.api.clients import NOW, Client, first_lines
from tests.root_keys import put_keys, root_key

VAR = "/v1/var/app/db"
ITEMS = {"user": "ada", "word": "open sesame"}
ZEROS = {
    "Namespace": "default", "Path": "app/db", "Items": None,
    "CreateIndex": 0, "CreateTime": 0, "ModifyIndex": 0, "ModifyTime": 0,
}  # fmt: skip


@pytest.fixture(autouse=True)
def keyring(store):
    put_keys(store, root_key())


async def let_anybody(store, *paths):
    """Give whoever shows no token capabilities on paths: `app/* read write`."""
    rules = "".join(
        f'path "{path}" {{ capabilities = {list(words)} }}\n'.replace("'", '"')
        for path, *words in map(str.split, paths)
    )
    text = f'namespace "default" {{ variables {{ {rules} }} }}'
    policy = AclPolicy(name="anonymous", rules=text)
    await store.awrite_call(put_policy, policy, by=MANAGER, now=NOW)


def without_times(form):
    return {key: value for key, value in form.items() if not key.endswith(("Index", "Time"))}


async def test_a_variable_is_written_read_listed_and_deleted(api):
    written = await api.put(VAR, {"Items": ITEMS})
    index = int(written.headers["X-Nomad-Index"])
    assert written.json == {
        "Namespace": "default", "Path": "app/db", "Items": ITEMS, "CreateIndex": index,
        "CreateTime": written.json["CreateTime"], "ModifyIndex": index,
        "ModifyTime": written.json["CreateTime"],
    }  # fmt: skip
    read = await api.get(VAR)
    assert (read.json, read.headers["X-Nomad-Index"]) == (written.json, str(index))
    stub = {key: value for key, value in written.json.items() if key != "Items"}
    assert (await api.get("/v1/vars")).json == [stub]
    gone = await api.delete(VAR)
    assert (gone.status, gone.text, int(gone.headers["X-Nomad-Index"])) == (204, "", index + 1)
    assert (await api.get(VAR)).text == "variable not found"
    assert (await api.delete(VAR)).status == 204


async def test_the_record_holds_no_word_of_the_items(api, store):
    await api.put(VAR, {"Items": ITEMS})
    kept = await store.aread(lambda reader: reader.get(VARIABLES, ("default", "app/db")))
    assert kept.key_id == "key-1"
    (frame,) = (await store.aframes_since(kept.modify_index - 1, 10))[-1:]
    for text in (repr(kept), repr(frame)):
        assert "sesame" not in text
        assert "ada" not in text


async def test_what_is_moved_to_another_path_opens_nothing(api, store):
    await api.put(VAR, {"Items": ITEMS})

    def move(change):
        kept = change.get(VARIABLES, ("default", "app/db"))
        change.put(VARIABLES, type(kept)(namespace="default", path="mine",
                                         key_id=kept.key_id, sealed=kept.sealed))  # fmt: skip

    await store.acall(lambda: store.write(VARIABLES.upserted, move, now=NOW))
    assert "sealed under another key, or changed since" in (await api.get("/v1/var/mine")).text


@pytest.mark.parametrize(
    ("path", "query", "body", "words"),
    [
        ("app", "", {}, "variable missing required Items object"),
        ("app", "", {"Items": {}}, "variable missing required Items object"),
        ("app", "", None, "Request body is empty"),
        (
            "app",
            "",
            {"Items": {"a": 1}},
            "cannot unmarshal number into Go struct field VariableDecrypted.Items of type string",
        ),
        ("app", "", {"Items": {"a": "x" * 65536}}, "limited to 64KiB in total size"),
        ("app", "", {"Items": ITEMS, "Lock": {"TTL": "15s"}}, "not contain lock definition"),
        ("app", "?cas=x", {"Items": ITEMS}, 'strconv.ParseUint: parsing "x": invalid syntax'),
        ("app", "?namespace=*", {"Items": ITEMS}, 'can not target wildcard ("*")namespace'),
        ("app", "?lock-acquire&lock-renew", {"Lock": {}}, "multiple lock operations"),
        ("app", "?lock-acquire&cas=1", {"Lock": {}}, "CAS can't be used with lock operations"),
        ("app", "?lock-acquire", {"Lock": {"TTL": "1s"}}, "between 10 seconds and 24 hours"),
        ("app", "?lock-acquire", {"Lock": {"LockDelay": "-1s"}}, "must be positive"),
        ("app", "?lock-renew", {"Lock": {}}, "missing lock ID"),
        ("app", "?lock-release", {"Items": ITEMS}, "missing lock information"),
        ("app", "?lock-release", {"Lock": {}, "Items": ITEMS}, "doesn't take variable items"),
        ("a.b", "", {"Items": ITEMS}, 'invalid path "a.b"'),
        ("", "", {"Items": ITEMS}, "missing variable path"),
        ("nomad", "", {"Items": ITEMS}, '"nomad" is a reserved top-level directory'),
        ("nomad/job-templates", "", {"Items": ITEMS}, "reserved directory path"),
        ("nomad/other", "", {"Items": ITEMS}, "only paths at"),
        ("nomad/sentinel", "", {"Items": ITEMS}, "only paths at"),
    ],
)
async def test_what_is_wrong_is_named_and_nothing_is_written(api, store, path, query, body, words):
    before = await store.aread(lambda reader: reader.index)
    refused = await api.put(f"/v1/var/{path}{query}", body)
    assert refused.status == 400
    assert words in refused.text
    assert await store.aread(lambda reader: reader.index) == before


@pytest.mark.parametrize(
    "path",
    ["nomad/jobs", "nomad/jobs/web/group/task", "nomad/job-templates/a", "nomad/sentinel/a"],
)
async def test_these_reserved_paths_may_be_written(api, path):
    assert (await api.put(f"/v1/var/{path}", {"Items": ITEMS})).status == 200


async def test_a_write_that_expects_another_index_is_told_what_there_is(api, store):
    missing = await api.put(VAR, {"Items": ITEMS}, cas=7)
    assert (missing.status, missing.headers["Content-Type"]) == (409, "text/plain; charset=utf-8")
    assert missing.json is None
    created = await api.put(VAR, {"Items": ITEMS}, cas=0)
    index = created.json["ModifyIndex"]
    refused = await api.put(VAR, {"Items": {"a": "b"}}, cas=0)
    assert (refused.status, refused.headers["X-Nomad-Index"]) == (409, str(index))
    assert '"word":"open sesame"' in refused.text
    assert (await api.put(VAR, {"Items": {"a": "b"}}, cas=index)).status == 200
    assert (await api.delete(VAR, cas=index)).status == 409
    await let_anybody(store, "app/* write destroy")
    blind = await Client("").delete(VAR, cas=1)
    assert blind.status == 409
    assert "Items" not in blind.text


async def test_each_path_is_asked_for_by_itself(api, store):
    for path in ("app/db", "app/web", "other"):
        await api.put(f"/v1/var/{path}", {"Items": ITEMS})
    await let_anybody(store, "app/* list", "app/web read")
    stranger = Client("")
    listed = (await stranger.get("/v1/vars")).json
    assert [each["Path"] for each in listed] == ["app/db", "app/web"]
    assert (await stranger.get("/v1/var/app/web")).status == 200
    for refused in ("app/db", "other", "nothing"):
        assert (await stranger.get(f"/v1/var/{refused}")).status == 403
    assert (await stranger.put("/v1/var/app/web", {"Items": ITEMS})).status == 403
    assert (await stranger.delete("/v1/var/app/web")).status == 403


async def test_lists_go_by_prefix_page_filter_and_namespace(api):
    for namespace in ("default", "other"):
        for path in ("a/1", "a/2", "b"):
            await api.put(f"/v1/var/{path}", {"Items": ITEMS, "Namespace": namespace})
    first = await api.get("/v1/vars", namespace="*", per_page=4)
    rest = await api.get("/v1/vars", namespace="*", next_token=first.headers["X-Nomad-NextToken"])
    assert [(each["Namespace"], each["Path"]) for each in first.json + rest.json] == [
        (namespace, path) for namespace in ("default", "other") for path in ("a/1", "a/2", "b")
    ]
    assert [each["Path"] for each in (await api.get("/v1/vars", prefix="a/")).json] == [
        "a/1", "a/2",
    ]  # fmt: skip
    filtered = await api.get("/v1/vars", namespace="other", filter='Path == "b"')
    assert [each["Path"] for each in filtered.json] == ["b"]
    assert (await api.get("/v1/var/a/1", namespace="*")).status == 404


async def test_a_lock_keeps_others_out_until_it_is_given_back(api):
    taken = await api.put(f"{VAR}?lock-acquire", {"Lock": {"TTL": "20s"}, "Items": ITEMS})
    lock = taken.json["Lock"]
    assert (lock["TTL"], lock["LockDelay"], taken.json["Items"]) == ("20s", "15s", ITEMS)
    for refused in (
        await api.put(f"{VAR}?lock-acquire", {"Lock": {}}),
        await api.put(VAR, {"Items": {"a": "b"}}),
        await api.put(VAR, {"Items": {"a": "b"}, "Lock": {"ID": "another"}}),
        await api.put(f"{VAR}?lock-release", {"Lock": {"ID": "another"}}),
        await api.delete(VAR),
    ):
        assert (refused.status, refused.headers.get("X-Nomad-Index")) == (409, None)
        assert msgspec.json.decode(refused.content) == ZEROS
    mine = await api.put(VAR, {"Items": {"a": "b"}, "Lock": {"ID": lock["ID"]}})
    assert (mine.status, mine.json["Lock"]) == (200, lock)
    renewed = await api.put(f"{VAR}?lock-renew", {"Lock": {"ID": lock["ID"]}})
    assert (renewed.json["Lock"], "Items" in renewed.json) == (lock, False)
    assert renewed.json["ModifyIndex"] == mine.json["ModifyIndex"]
    freed = await api.put(f"{VAR}?lock-release", {"Lock": {"ID": lock["ID"]}})
    assert without_times(freed.json) == {
        "Namespace": "default", "Path": "app/db", "Items": {"a": "b"},
    }  # fmt: skip
    late = await api.put(VAR, {"Items": {"a": "c"}, "Lock": {"ID": lock["ID"]}})
    assert late.status == 409
    assert (await api.put(f"{VAR}?lock-renew", {"Lock": {"ID": lock["ID"]}})).text == (
        "variable doesn't hold a lock"
    )


async def test_only_managers_are_shown_locks_that_they_do_not_hold(api, store):
    await api.put(f"{VAR}?lock-acquire", {"Lock": {}, "Items": ITEMS})
    await let_anybody(store, "app/* read")
    assert "Lock" in (await api.get(VAR)).json
    assert "Lock" not in (await Client("").get(VAR)).json
    assert "Lock" not in (await Client("").get("/v1/vars")).json[0]


async def test_the_stream_tells_of_paths_that_may_be_listed_and_of_no_items(api, store):
    for path in ("secret", "app/db"):
        await api.put(f"/v1/var/{path}", {"Items": ITEMS})
    await let_anybody(store, "app/* list")
    lines = await first_lines(await Client("").get("/v1/event/stream", topic="Variable"), 2)
    (event,) = lines[1]["Events"]
    assert [event[name] for name in ("Topic", "Type", "Key", "Namespace")] == [
        "Variable", "VariableUpdated", "app/db", "default",
    ]  # fmt: skip
    assert event["Payload"]["Variable"]["Path"] == "app/db"
    assert "Items" not in event["Payload"]["Variable"]


async def test_variables_are_searched_by_whoever_may_list_them(api, store):
    for path in ("secret/db", "app/db"):
        await api.put(f"/v1/var/{path}", {"Items": ITEMS})
    await let_anybody(store, "app/* list")
    stranger = Client("")
    found = await stranger.put("/v1/search", {"Prefix": "", "Context": "vars"})
    assert found.json["Matches"] == {"vars": ["app/db"]}
    fuzzy = await stranger.put("/v1/search/fuzzy", {"Text": "db", "Context": "vars"})
    assert fuzzy.json["Matches"] == {
        "vars": [{"ID": "app/db", "Scope": ["default", "app/db"]}]
    }  # fmt: skip


async def test_a_namespace_with_variables_stays(api):
    await api.put("/v1/namespace", {"Name": "team"})
    await api.put("/v1/var/a", {"Items": ITEMS, "Namespace": "team"})
    refused = await api.delete("/v1/namespace/team")
    assert 'namespace "team" has variables associated with it in regions: [global]' in refused.text
    await api.delete("/v1/var/a", namespace="team")
    assert (await api.delete("/v1/namespace/team")).status == 200


async def test_without_a_key_nothing_is_written_and_the_reason_is_told(api, store):
    await store.acall(lambda: store.write("x", lambda change: change.delete(ROOT_KEYS, "key-1"),
                                          now=NOW))  # fmt: skip
    refused = await api.put(VAR, {"Items": ITEMS})
    assert (refused.status, refused.text) == (400, "keyring has not been initialized yet")
