"""What holds of every route: tokens, methods, headers, bodies, compression."""

import gzip

import msgspec
import pytest

from cluster.versions import REFERENCE_VERSION, VERSION
from tests.cluster.api.clients import Client, document


async def test_without_a_token_no_object_is_shown(stranger):
    for path in (
        "jobs",
        "agent/self",
        "event/stream",
        "nodes",
        "operator/scheduler/configuration",
    ):
        answer = await stranger.get(f"/v1/{path}")

        assert (answer.status, answer.text) == (403, "Permission denied")


@pytest.mark.parametrize("secret", ["wrong", "x" * 100_000, " ", "Bearer"])
async def test_an_unknown_token_is_like_none(store, secret):
    answer = await Client(secret).get("/v1/jobs")

    assert (answer.status, answer.text) == (403, "Permission denied")


async def test_a_bearer_is_as_good_as_the_token_header(stranger, secret):
    headers = {"Authorization": f"Bearer {secret}"}

    assert (await stranger.send("GET", "/v1/jobs", headers=headers)).status == 200


async def test_other_schemes_are_not_read(stranger, secret):
    headers = {"Authorization": f"Basic {secret}"}

    assert (await stranger.send("GET", "/v1/jobs", headers=headers)).status == 403


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("DELETE", "nodes"),
        ("OPTIONS", "jobs"),
        ("GET", "search"),
        ("POST", "system/gc"),
        ("PATCH", "job/web"),
    ],
)
async def test_a_wrong_method_is_said_so(api, method, path):
    answer = await api.send(method, f"/v1/{path}")

    assert (answer.status, answer.text) == (405, "Invalid method")


@pytest.mark.parametrize(
    "path", ["nope", "jobs/", "", "job", "allocation", "evaluations/", "a\nb"]
)
async def test_an_unknown_path_is_an_empty_404(api, path):
    answer = await api.get(f"/v1/{path}")

    assert (answer.status, answer.content) == (404, b"")
    assert answer.headers["Content-Length"] == "0"


async def test_reads_carry_the_read_headers(api):
    answer = await api.get("/v1/jobs")

    assert answer.json == []
    assert answer.headers["X-Nomad-KnownLeader"] == "true"
    assert answer.headers["X-Nomad-LastContact"] == "0"
    assert int(answer.headers["X-Nomad-Index"]) >= 1
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Vary"] == "Accept-Encoding"
    assert answer.headers["Content-Length"] == "2"


async def test_a_missing_object_still_tells_its_index(api):
    answer = await api.get("/v1/job/nobody")

    assert (answer.status, answer.text) == (404, "job not found")
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert int(answer.headers["X-Nomad-Index"]) >= 1


async def test_posting_is_putting(api):
    answer = await api.send("POST", "/v1/jobs", {"Job": document()})

    assert answer.status == 200
    assert answer.headers["X-Nomad-Index"] == str(answer.json["Index"])
    assert "X-Nomad-KnownLeader" not in answer.headers


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ({"index": "abc"}, "Invalid index"),
        ({"index": "-1"}, "Invalid index"),
        ({"index": "99999999999999999999"}, "Invalid index"),
        ({"wait": "soon"}, "Invalid wait time"),
        (
            {"stale": "maybe"},
            "Expect `true` or `false` for `stale` query string parameter",
        ),
        ({"per_page": "x"}, "Expect a number for `per_page` query string parameter"),
        (
            {"meta": "maybe"},
            (
                'Failed to parse value of "meta" (maybe) as a bool:'
                ' strconv.ParseBool: parsing "maybe": invalid syntax'
            ),
        ),
    ],
)
async def test_a_bad_parameter_is_named(api, query, text):
    answer = await api.get("/v1/jobs", **query)

    assert (answer.status, answer.text) == (400, text)
    assert "X-Nomad-Index" not in answer.headers


@pytest.mark.parametrize(("pretty", "indented"), [("", True), ("1", True), ("0", False)])
async def test_answers_can_be_indented(api, pretty, indented):
    answer = await api.get("/v1/agent/health", pretty=pretty)

    assert answer.text.startswith("{\n    ") is indented
    assert answer.text.endswith("}\n") is indented


async def test_long_answers_are_compressed_for_those_who_can(api):
    answer = await api.send("GET", "/v1/agent/self", headers={"Accept-Encoding": "gzip"})

    assert answer.headers["Content-Encoding"] == "gzip"
    assert msgspec.json.decode(gzip.decompress(answer.content))["config"]["Region"] == "global"


@pytest.mark.parametrize("accepted", ["", "identity", "gzip;q=0"])
async def test_others_get_them_as_they_are(api, accepted):
    answer = await api.send("GET", "/v1/agent/self", headers={"Accept-Encoding": accepted})

    assert "Content-Encoding" not in answer.headers


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"", "Request body is empty"),
        (b"  \n", "Request body is empty"),
        (b"{bad}", "invalid character 'b' looking for beginning of object key string"),
        (b"]", "invalid character ']' looking for beginning of value"),
        (b'{"Job"', "unexpected EOF"),
        (b"[1]", "json: cannot unmarshal array into Go value of type api.JobRegisterRequest"),
        (
            b'{"Job": "web"}',
            (
                "json: cannot unmarshal string into Go struct field"
                " JobRegisterRequest.Job of type object"
            ),
        ),
        (
            b'{"Job": {"ID": "web"}, "EnforceIndex": "yes"}',
            (
                "json: cannot unmarshal string into Go struct field"
                " JobRegisterRequest.EnforceIndex of type bool"
            ),
        ),
        (b"{}", "Job must be specified"),
        (b"null", "Job must be specified"),
        (b'{"Job": null}', "Job must be specified"),
        (b'{"Job": {}}', "Job ID hasn't been provided"),
        (b'{"Job": {"ID": "a", "Region": "mars"}}', "No path to region"),
        (b"[" * 100_000, "exceeded max depth"),
        (b'{"Job":' * 5_000 + b"1" + b"}" * 5_000, "exceeded max depth"),
        (b'{"Job": {"ID": NaN}}', "invalid character 'N' looking for beginning of value"),
    ],
)
async def test_a_body_that_is_no_request_is_refused(api, body, text):
    answer = await api.put("/v1/jobs", body)

    assert (answer.status, answer.text) == (400, text)


async def test_a_body_over_four_mebibytes_is_too_large(api):
    answer = await api.put("/v1/jobs", b" " * (4 * 1024 * 1024 + 1))

    assert answer.status == 413


async def test_a_job_over_one_mebibyte_is_too_large(api, store):
    before = await store.aread(lambda reader: reader.index)

    answer = await api.put("/v1/jobs", {"Job": document(Meta={"long": "x" * 1024 * 1024})})

    assert answer.status == 413
    assert await store.aread(lambda reader: reader.index) == before


async def test_bytes_that_are_no_text_do_no_harm(api):
    answer = await api.put("/v1/jobs", b'{"Job": {"ID": "\xff\xfe"}}')

    assert answer.status == 400


async def test_field_names_of_a_request_have_no_case(api):
    answer = await api.put("/v1/jobs", {"job": document(), "evalpriority": 60})

    assert answer.status == 200


async def test_an_expired_token_opens_nothing(expired):
    assert (await expired.get("/v1/jobs")).status == 403


async def test_the_server_tells_both_versions(api):
    answer = (await api.get("/v1/agent/self")).json

    assert answer["config"]["Version"]["Version"] == REFERENCE_VERSION
    assert answer["stats"]["bivouac"] == {"version": VERSION}


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("jobs", 400), ("job/x", 400), ("nodes", 400), ("status/leader", 400), ("vars", 400),
        ("regions", 200), ("agent/self", 200), ("metrics", 200), ("agent/health?type=x", 200),
    ],
)  # fmt: skip
async def test_there_is_one_region(api, path, status):
    answer = await api.get(f"/v1/{path}", region="mars")

    assert answer.status == status
    assert (answer.text == "No path to region") is (status == 400)
    if path != "job/x":
        assert (await api.get(f"/v1/{path}", region="global")).status == 200


@pytest.mark.parametrize(
    ("method", "path", "status", "text"),
    [
        ("OPTIONS", "var/x", 400, "Invalid method"),
        ("PUT", "operator/raft/configuration", 405, ""),
        ("POST", "operator/autopilot/configuration", 404, "Invalid method"),
        ("GET", "operator/raft/peer", 404, "Invalid method"),
        ("GET", "operator/autopilot/nothing", 404, "Invalid method"),
        ("GET", "operator/utilization", 405, "Invalid method"),
        ("GET", "namespace/", 400, "Missing Namespace Name"),
        ("PUT", "namespace/", 400, "Missing Namespace Name"),
        ("DELETE", "namespace/", 400, "Missing Namespace Name"),
        ("GET", "acl/policy/", 400, "Missing Policy Name"),
        ("DELETE", "acl/policy/", 400, "Missing Policy Name"),
        ("DELETE", "client/fs/cat/x", 400, "must provide a valid alloc id"),
    ],
)
async def test_what_the_reference_answers_in_its_own_way(api, method, path, status, text):
    answer = await api.send(method, f"/v1/{path}")

    assert (answer.status, answer.text) == (status, text)


async def test_what_no_scheduler_settings_are_is_said_with_where_it_was_sent(api):
    answer = await api.put("/v1/operator/scheduler/configuration", b"{bad")

    assert answer.text.startswith("Error parsing scheduler config: invalid character 'b'")


async def test_a_bad_token_scrapes_what_everybody_may(store):
    answer = await Client("wrong").get("/v1/metrics")

    assert answer.status == 200
    assert not any("node_id" in gauge["Labels"] for gauge in answer.json["Gauges"])


async def test_an_id_may_be_written_in_large_letters(api):
    made = (await api.put("/v1/jobs", {"Job": document()})).json["EvalID"]

    assert (await api.get(f"/v1/evaluation/{made.upper()}")).json["ID"] == made
