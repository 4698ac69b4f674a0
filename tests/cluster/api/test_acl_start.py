"""The first management token, a new one when all are lost, and tokens handed on once."""

import pytest

from cluster.store.audit import AuditFilter, read_audit
from cluster.store.tokens import new_secret
from tests.cluster.api.clients import Client, accessor_of

UNKNOWN = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def nobody(store, settings, tmp_path):
    """Whoever comes first to a new cluster."""
    del store
    settings.BIVOUAC_DATA_DIR = tmp_path / "data"
    return Client("")


@pytest.fixture
def reset_file(settings, nobody):
    """The file in which the server is told to start access control again."""
    file = settings.BIVOUAC_DATA_DIR / "server" / "acl-bootstrap-reset"
    file.parent.mkdir(parents=True)
    return file


async def test_the_first_to_come_gets_the_only_management_token_made_so(nobody):
    first = await nobody.put("/v1/acl/bootstrap")
    assert first.status == 200
    token = first.json
    assert (token["Name"], token["Type"], token["Global"]) == (
        "Bootstrap Token",
        "management",
        True,
    )
    assert (token["Policies"], token["Roles"]) == (None, None)
    assert (await Client(token["SecretID"]).get("/v1/acl/tokens")).status == 200
    second = await nobody.put("/v1/acl/bootstrap")
    index = first.headers["X-Nomad-Index"]
    assert (second.status, second.text) == (
        400,
        f"ACL bootstrap already done (reset index: {index})",
    )


async def test_one_may_bring_the_secret_along(nobody):
    wrong = await nobody.put("/v1/acl/bootstrap", {"BootstrapSecret": "easy"})
    assert (wrong.status, wrong.text) == (400, "invalid acl token")
    broken = await nobody.send("PUT", "/v1/acl/bootstrap", b"{")
    assert (broken.status, broken.text) == (
        400,
        "failed to decode request body: unexpected EOF",
    )
    secret = new_secret()
    made = await nobody.put("/v1/acl/bootstrap", {"BootstrapSecret": secret})
    assert made.json["SecretID"] == secret
    assert (await Client(secret).get("/v1/acl/tokens")).status == 200


async def test_the_file_on_the_server_opens_the_way_once_more(nobody, reset_file):
    first = await nobody.put("/v1/acl/bootstrap")
    index = int(first.headers["X-Nomad-Index"])
    for text in ("", "not a number", "9" * 30):
        reset_file.write_text(text)
        refused = await nobody.put("/v1/acl/bootstrap")
        assert refused.text == f"ACL bootstrap already done (reset index: {index})"
    reset_file.write_text(f"{index + 1}\n")
    refused = await nobody.put("/v1/acl/bootstrap")
    assert (refused.status, refused.text) == (
        400,
        f"Invalid bootstrap reset index (specified {index + 1}, reset index: {index})",
    )
    reset_file.write_text(f"{index}\n")
    second = await nobody.put("/v1/acl/bootstrap")
    assert second.status == 200
    for token in (first, second):
        assert (await Client(token.json["SecretID"]).get("/v1/acl/tokens")).status == 200
    third = await nobody.put("/v1/acl/bootstrap")
    new_index = second.headers["X-Nomad-Index"]
    assert third.text.startswith("Invalid bootstrap reset index")
    assert third.text.endswith(f"reset index: {new_index})")


async def test_whoever_made_a_manager_in_another_way_has_started(api, stranger):
    refused = await stranger.put("/v1/acl/bootstrap")
    assert refused.status == 400
    assert refused.text.startswith("ACL bootstrap already done")


async def test_a_browser_is_handed_a_token_once(api, secret, store):
    made = await api.put("/v1/acl/token/onetime")
    assert made.status == 200
    one = made.json["OneTimeToken"]
    assert one["AccessorID"] == accessor_of("root")
    assert one["ExpiresAt"].endswith("Z")
    assert made.json["Index"] == one["CreateIndex"] == int(made.headers["X-Nomad-Index"])
    assert secret not in made.text
    browser = Client("")
    asked = {"OneTimeSecretID": one["OneTimeSecretID"]}
    exchanged = await browser.send("POST", "/v1/acl/token/onetime/exchange", msg(asked))
    assert exchanged.json["Token"]["SecretID"] == secret
    assert exchanged.json["Token"]["AccessorID"] == accessor_of("root")
    again = await browser.put("/v1/acl/token/onetime/exchange", asked)
    assert (again.status, again.text) == (403, "Permission denied")

    def entries():
        store.audit.flush()
        return read_audit(store, AuditFilter(act="exchange a one-time"), limit=9).rows

    (entry,) = await store.acall(entries)
    assert (entry.target_id, entry.result) == (accessor_of("root"), "done")


async def test_a_new_one_ends_the_last_one_of_the_token(api):
    first, second = [
        (await api.put("/v1/acl/token/onetime")).json["OneTimeToken"]["OneTimeSecretID"]
        for _ in range(2)
    ]
    path = "/v1/acl/token/onetime/exchange"
    assert (await api.put(path, {"OneTimeSecretID": first})).status == 403
    assert (await api.put(path, {"OneTimeSecretID": second})).status == 200


async def test_what_cannot_be_exchanged(api, stranger, store):
    path = "/v1/acl/token/onetime/exchange"
    empty = await stranger.put(path)
    assert (empty.status, empty.text) == (400, "Request body is empty")
    for text in ("", UNKNOWN):
        assert (await stranger.put(path, {"OneTimeSecretID": text})).status == 403
    without = await stranger.put("/v1/acl/token/onetime")
    assert (without.status, without.text) == (
        400,
        "acl token lookup failed: missing secret id",
    )
    assert (await Client(UNKNOWN).put("/v1/acl/token/onetime")).status == 403


async def test_a_token_taken_back_meanwhile_is_not_handed_on(api, store):
    token = (await api.put("/v1/acl/token", {"Type": "management"})).json
    bearer = Client(token["SecretID"])
    one = (await bearer.put("/v1/acl/token/onetime")).json["OneTimeToken"]
    await api.delete(f"/v1/acl/token/{token['AccessorID']}")
    path = "/v1/acl/token/onetime/exchange"
    refused = await api.put(path, {"OneTimeSecretID": one["OneTimeSecretID"]})
    assert refused.status == 403


def msg(value):
    import json

    return json.dumps(value).encode()


async def test_a_manager_follows_what_is_written_of_access(api, secret):
    token = (await api.put("/v1/acl/token", {"Type": "management", "Name": "ci"})).json
    config = {"JWKSURL": "https://sso.example/keys", "OIDCClientSecret": "hush"}
    method = {
        "Name": "sso",
        "Type": "JWT",
        "TokenLocality": "local",
        "MaxTokenTTL": "1h",
        "Config": config,
    }
    assert (await api.put("/v1/acl/auth-method", method)).status == 200
    answer = await api.get("/v1/event/stream", topic=["ACLToken", "ACLAuthMethod"])
    told = ""
    async for line in answer.streaming_content:
        told += line.decode()
        if '"ACLAuthMethodUpserted"' in told:
            break
    assert '"ACLTokenUpserted"' in told
    assert token["AccessorID"] in told
    for hidden in (token["SecretID"], secret, "hush", "SecretID"):
        assert hidden not in told
