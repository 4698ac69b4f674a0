"""What programs ask for at `/v1` is in the audit, refusals included, and no secret ever is."""

import json

import pytest
from django.db import OperationalError
from django.urls import URLPattern, get_resolver

from cluster.api.audit_words import words_of
from cluster.store import writer
from cluster.store.audit import AuditFilter, read_audit
from tests.cluster.api.clients import Client, document, make_token

#: Secrets of one request each; none may be found anywhere in the audit.
SECRETS = tuple(f"5ec2e7{number:02d}-1111-4222-8333-444444444444" for number in range(10))


async def rows(store):
    """What the audit holds, oldest first."""

    def read():
        store.audit.flush()
        return read_audit(store, AuditFilter(), limit=1000).rows[::-1]

    return await store.acall(read)


async def told(store, *parts):
    return [tuple(getattr(row, part) for part in parts) for row in await rows(store)]


async def test_a_registration_is_told_once_with_the_token_s_name(api, store):
    answer = await api.put("/v1/jobs", {"Job": document()})
    assert await told(store, "who_kind", "who_name", "door", "act", "target_id", "made_index") == [
        ("token", "root", "api", "register job", "web", answer.json["Index"])
    ]
    assert await told(store, "result", "address") == [("done", "127.0.0.1")]


async def test_reads_are_no_acts_but_refused_ones_are_told(api, reader, stranger, job, store):
    for path in ("/v1/jobs", "/v1/job/web", "/v1/job/none", "/v1/nodes"):
        await api.get(path)
    await stranger.get("/v1/job/web")
    await reader.get("/v1/acl/tokens")
    seen = await told(store, "who_kind", "who_name", "act", "target_id", "result", "missing_right")
    assert seen == [
        ("nobody", "", "read job", "web", "refused", "read-job in namespace default"),
        ("token", "reader", "read acl tokens", "", "refused", "management"),
    ]


async def test_a_refused_stop_names_the_job_and_the_missing_right(reader, job, store):
    assert (await reader.delete("/v1/job/web", namespace="default")).status == 403
    parts = ("act", "target_kind", "target_id", "namespace", "result", "reason", "missing_right")
    assert await told(store, *parts) == [
        ("stop job", "job", "web", "default", "refused", "not allowed",
         "submit-job or deregister-job or purge-job in namespace default")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("verb", "body", "words"),
    [
        ("PUT dispatch", {"Payload": "aGk="}, ("dispatch job", "as twice/dispatch-")),
        ("PUT dispatch/payload", {"a": 1}, ("dispatch job", "as twice/dispatch-")),
        ("PUT revert", {"JobID": "twice"}, ("revert job", "version 2")),
        (
            "PUT stable",
            {"JobID": "twice", "Stable": True},
            ("mark job version", "version 0, stable"),
        ),
        ("PUT versions/good/tag", {"Version": 1}, ("tag job version", "version 1, good")),
        ("DELETE versions/first/tag", None, ("untag job version", "version 0")),
    ],
)
async def test_done_or_refused_an_act_has_the_same_words(api, reader, store, verb, body, words):
    act, detail = words
    for priority in (10, 20):
        form = document(ID="twice", Priority=priority, ParameterizedJob={})
        await api.put("/v1/jobs", {"Job": form})
    await api.put("/v1/job/twice/versions/first/tag", {})
    method, path = verb.split()

    assert (await reader.send(method, f"/v1/job/twice/{path}", body)).status == 403
    answer = await api.send(method, f"/v1/job/twice/{path}", body)

    assert answer.status == 200, answer.text
    seen = [row for row in await told(store, "result", "act", "target_id", "reason") if act in row]
    assert [row[:3] for row in seen if row[0] == "refused"] == [("refused", act, "twice")]
    done = [row for row in seen if row[0] == "done"]
    assert done[-1][2] == "twice"
    assert done[-1][3].startswith(detail)


async def test_a_wrong_token_is_told_and_counted(store, job):
    for _ in range(5):
        await Client(SECRETS[0]).get("/v1/job/web")
    seen = await told(store, "who_kind", "who_id", "act", "reason", "count")
    assert seen == [("nobody", "", "read job", "no such token, or it has expired", 5)]


@pytest.mark.parametrize(
    ("method", "path", "body", "reason"),
    [
        ("PUT", "/v1/jobs", {"Job": document(ID="a b", Priority=-7)}, "the job breaks 2 rules"),
        ("PUT", "/v1/jobs", b"{", "the request was not valid"),
        ("PUT", "/v1/node/none/purge", None, "it does not exist"),
    ],
)
async def test_what_was_not_valid_is_told_without_what_was_sent(
    api, store, method, path, body, reason
):
    answer = await api.send(method, path, body)
    assert 400 <= answer.status < 500
    [seen] = await told(store, "result", "reason")
    assert seen == ("refused", reason)


async def test_a_fault_of_ours_is_told_as_not_done(api, store, monkeypatch):
    def fail(*_given):
        raise OperationalError("database or disk is full")

    monkeypatch.setattr(writer, "_write_audit", fail)
    # Which answer it gets is the front door's; the door of the API passes the fault on.
    with pytest.raises(OperationalError):
        await api.put("/v1/jobs", {"Job": document()})
    monkeypatch.undo()
    assert await told(store, "act", "result", "reason") == [
        ("register job", "failed", "no space is left on the disk of the record")
    ]


async def test_no_secret_is_kept_wherever_a_request_put_it(store, job, tenant):
    """Header, bearer, query, cookie, path, body, name: of refused and of done requests."""
    good = await store.acall(lambda: make_token(store, "weak", team="write"))
    weak = Client(good)
    s = SECRETS
    await Client(s[0]).delete(f"/v1/job/{s[0]}")
    await Client("").send("DELETE", f"/v1/job/{s[1]}", headers={"Authorization": f"Bearer {s[1]}"})
    await Client("").delete(f"/v1/job/x{s[2]}y", token=s[2])
    await Client("").send("DELETE", f"/v1/job/{s[3]}", headers={"Cookie": f"bivouac={s[3]}"})
    await Client("").delete("/v1/job/web", namespace=s[4], token=s[4])
    await weak.put("/v1/jobs", {"Job": document(Namespace="default", Meta={"password": s[5]})})
    await weak.put("/v1/jobs", {"Job": document(ID="a b", Namespace="team", Meta={"k": s[6]})})
    await weak.put("/v1/jobs", {"Job": document(Namespace="team", Meta={"password": s[7]})})
    await weak.delete(f"/v1/job/{good}", namespace="team")
    await weak.put("/v1/acl/token/" + s[8], {"Name": s[8], "SecretID": s[8]})
    await weak.put("/v1/acl/bootstrap", {"BootstrapSecret": s[9]})
    kept = await rows(store)
    assert len(kept) >= 7
    text = json.dumps([str(row) for row in kept])
    assert [secret for secret in (*SECRETS, good) if secret in text] == []


async def test_every_route_has_words(store):
    del store
    found = set()

    def walk(patterns, prefix=""):
        for each in patterns:
            where = prefix + str(each.pattern)
            if isinstance(each, URLPattern):
                found.add((where, words_of(where)))
            else:
                walk(each.url_patterns, where)

    walk(get_resolver().url_patterns)
    assert len(found) > 60
    # What nobody knows has no words.
    assert all(r"[\s\S]*" in where for where, words in found if not words)
