"""Requests that schemathesis makes from the document, good ones and bad, at a real web process.

None is answered by a fault of ours, none by a status, a form or a shape that the document does not
know. The short run is the same every time; the long one makes new requests by the thousand.
"""

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.cluster.api.filled_record import filled_record
from tests.cluster.api.test_shapes import ALLOC, EVAL, NODE
from tests.cluster.api.web_process import web_process

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
#: What is there, so that not every name leads to "not found".
NAMES = {
    "job_id": ["web", "twice", "etl"],
    "eval_id": [EVAL],
    "alloc_id": [ALLOC],
    "node_id": [NODE],
    "deployment_id": ["dddddddd-0000-0000-0000-000000000001"],
    "name": ["default", "first", "all"],
    "policy_id": ["00000000-0000-0000-0000-000000000001"],
}
#: Answers without an end, or in frames: tests of their own read their first lines.
STREAMS = {"get_event_stream", "get_agent_monitor", "get_agent_monitor_export"}
#: They say themselves that something is broken: 503 while no leader is there, 500 to a body that
#: is no snapshot, and to a question about clients.
SAY_SO = {"get_agent_health", "put_operator_snapshot"}


@pytest.fixture(scope="module")
def site(sqlite_template, tmp_path_factory, django_db_blocker):
    """Address and token of a web process over a small cluster with one of everything."""
    place = tmp_path_factory.mktemp("fuzzed")
    with django_db_blocker.unblock():
        secret = filled_record(place, sqlite_template)
    with web_process(place) as address:
        yield address, secret
        told = (place / "web.log").read_text(errors="replace")
    assert "Traceback" not in told, told[told.index("Traceback") :][:3000]


@pytest.fixture(scope="module")
def schema(site):
    address, _ = site
    return schema_of(httpx.get(f"{address}/v1/openapi.json", timeout=30).json(), address)


def fuzz(schema, secret, operation, examples, **options):
    """So many requests of one operation."""
    modes = schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE
    cases = st.one_of(*(operation.as_strategy(generation_mode=mode) for mode in modes))

    @given(case=cases, names=st.fixed_dictionaries(
        {name: st.one_of(st.none(), st.sampled_from(known)) for name, known in NAMES.items()}
    ))  # fmt: skip
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
        **options,
    )
    def run(case, names):
        for name in case.path_parameters or {}:
            case.path_parameters[name] = names.get(name) or case.path_parameters[name]
        if "index" in (case.query or {}):
            # Nothing comes: the wait is for nothing.
            case.query["wait"] = "1ms"
        headers = {"X-Nomad-Token": secret}
        response = case.call(headers=headers, timeout=60)
        checks = [
            check
            for check in CHECKS
            if check is not not_a_server_error
            or (response.status_code not in {501, 503}
                and operation.definition.raw["operationId"] not in SAY_SO)
        ]  # fmt: skip
        case.validate_response(response, checks=checks)

    run()


def schema_of(document, address):
    found = schemathesis.openapi.from_dict(document)
    found.config.update(base_url=address)
    return found


def operations(schema):
    for found in schema.get_all_operations():
        operation = found.ok()
        raw = operation.definition.raw
        if raw["operationId"] not in STREAMS and "x-same-as" not in raw:
            yield operation


def faults(schema, secret, examples, **options):
    found = []
    for operation in operations(schema):
        try:
            is_built = operation.definition.raw["summary"] != "Not built"
            fuzz(schema, secret, operation, examples if is_built else 1, **options)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            found.append(f"{operation.label}: {said(error)}"[:1500])
    return found


def said(error):
    """What it says, and what those say that it is made of: of one that came once, its first."""
    return " / ".join([str(error), *map(said, getattr(error, "exceptions", ()))])


def test_no_request_is_answered_by_what_the_document_does_not_know(schema, site):
    assert faults(schema, site[1], 2, derandomize=True) == []


def test_what_the_document_does_not_know_is_found(schema, site):
    """Planted: an answer of another shape, one of another status, one of another form."""
    address, secret = site
    paths = dict(schema.raw_schema["paths"])
    planted = {
        "/v1/regions": {"content": {"application/json": {"schema": {"type": "integer"}}}},
        "/v1/status/peers": {"content": {"text/html": {"schema": {"type": "string"}}}},
    }
    for path, answer in planted.items():
        good = paths[path]["get"]
        responses = good["responses"] | {"200": {"description": ""} | answer}
        paths[path] = {"get": good | {"responses": responses}}
    leader = paths["/v1/status/leader"]["get"]
    others = {each: told for each, told in leader["responses"].items() if each != "200"}
    paths["/v1/status/leader"] = {"get": leader | {"responses": others}}
    wrong = {path: paths[path] for path in (*planted, "/v1/status/leader")}

    found = faults(
        schema_of(schema.raw_schema | {"paths": wrong}, address), secret, 2, derandomize=True
    )

    assert sorted(each.partition(":")[0] for each in found) == sorted(
        f"GET {each}" for each in wrong
    )


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_nor_is_any_of_many(schema, site):
    assert faults(schema, site[1], 100) == []
