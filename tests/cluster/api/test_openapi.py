"""The API's document: every route with its answers, and nothing else.

That answers are of the shapes that it tells is asserted wherever a test of the API asks anything:
`clients.Client` compares each with the document.
"""

import io
import json
import re

import pytest
import schemathesis
from django.core.management import call_command
from django.urls import re_path

from cluster.api import events, urls
from cluster.api.encode_rules import COMPUTED
from cluster.api.openapi.computed_fields import COMPUTED_FIELDS
from cluster.api.openapi.document import make_document
from cluster.api.openapi.parameters import PARAMETERS
from cluster.api.openapi.route_paths import paths_of
from cluster.api.request import door
from tests.cluster.api.clients import first_lines
from tests.cluster.api.conformance import differences, document
from tests.operation_rights import MODULE, module

METHODS = {"get", "put", "post", "patch", "delete"}


def operations():
    for path, item in document()["paths"].items():
        for method, operation in item.items():
            if method != "parameters":
                yield path, method, operation


def as_sent():
    return json.loads(json.dumps(document()))


def test_every_route_is_in_it_by_method_and_nothing_else_is():
    routes = {
        (f"/v1/{path}", method.lower())
        for route in urls.urlpatterns
        for path in paths_of(str(route.pattern))
        for method in getattr(route.callback, "methods", ())
    }
    assert {(path, method) for path, method, _ in operations()} == routes


def test_a_route_without_a_declared_operation_is_refused():
    async def view(_call):
        raise AssertionError

    route = re_path(r"^nowhere\Z", door({"GET": view}))
    with pytest.raises(LookupError, match="no operation is declared for GET nowhere"):
        make_document([*urls.urlpatterns, route])


def test_an_operation_without_a_route_is_refused():
    with pytest.raises(LookupError, match=r"no route is there for .*'jobs'"):
        make_document([each for each in urls.urlpatterns if str(each.pattern) != r"^jobs\Z"])


def test_each_operation_has_a_name_of_its_own_a_right_and_an_answer():
    names = [operation["operationId"] for _, _, operation in operations()]
    assert len(names) == len(set(names))
    for path, method, operation in operations():
        assert operation["x-right"], f"{method} {path}"
        assert method in METHODS
        is_there = operation["summary"] not in {"Nothing is here", "Not built"}
        assert any(status < "400" for status in operation["responses"]) is is_there


def test_what_is_referred_to_is_there_and_what_is_there_is_referred_to():
    text = json.dumps(document())
    referred = set(re.findall(r'"\$ref": "#/components/([^"]+)"', text))
    there = {
        f"{kind}/{name}"
        for kind, named in document()["components"].items()
        if kind != "securitySchemes"
        for name in named
    }
    assert referred - there == set()
    # Statuses and headers are listed as a whole.
    idle = there - referred
    assert {each for each in idle if each.startswith(("schemas", "parameters"))} == set()
    assert set(document()["components"]["parameters"]) == set(PARAMETERS)


def test_rights_are_those_of_the_table():
    assert MODULE.read_text() == module(), "python -m tests.operation_rights"


def test_every_field_that_is_worked_out_has_a_schema():
    assert set(COMPUTED_FIELDS) == set(COMPUTED)


def test_a_tool_reads_it():
    schema = schemathesis.openapi.from_dict(document())
    assert schema.specification.version == "3.1.0"
    assert sum(1 for _ in schema.get_all_operations()) == sum(1 for _ in operations())


async def test_it_is_served_to_everybody(stranger):
    answer = await stranger.get("/v1/openapi.json")

    assert answer.status == 200
    assert answer.json == as_sent()


def test_the_command_writes_the_same():
    out = io.StringIO()
    call_command("openapi", stdout=out)
    assert json.loads(out.getvalue()) == as_sent()


class Answer:
    streaming = False

    def __init__(self, status, body, media="application/json"):
        self.status_code = status
        self.headers = {"Content-Type": media} if media else {}
        self.content = json.dumps(body).encode()


JOB = {
    "ID": "a", "ParentID": "", "Name": "a", "Namespace": "default", "Datacenters": ["*"],
    "NodePool": "default", "Multiregion": None, "Type": "batch", "Priority": 50, "Stop": False,
    "Status": "dead", "StatusDescription": "", "CreateIndex": 1, "ModifyIndex": 1,
    "JobModifyIndex": 1, "SubmitTime": 1, "Periodic": False, "ParameterizedJob": False,
    "JobSummary": {
        "JobID": "a", "Namespace": "default", "Summary": {}, "CreateIndex": 1, "ModifyIndex": 1,
        "Children": {"Pending": 0, "Running": 0, "Dead": 0},
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("method", "path", "answer", "told"),
    [
        ("GET", "/v1/jobs", Answer(200, [JOB]), ""),
        ("GET", "/v1/jobs", Answer(200, [JOB | {"More": 1}]), "Additional properties"),
        ("GET", "/v1/jobs", Answer(200, [JOB | {"Priority": "50"}]), "Priority"),
        ("GET", "/v1/jobs", Answer(200, [{"ID": "a"}]), "required"),
        ("GET", "/v1/jobs", Answer(200, None), "not of type"),
        ("GET", "/v1/jobs", Answer(500, "x", "text/plain"), "no answer of the document"),
        ("GET", "/v1/jobs", Answer(200, "x", "text/html"), "no answer of the document"),
        ("GET", "/v1/jobs", Answer(200, "x", ""), "has no body"),
        ("GET", "/v1/plugin/csi/a", Answer(404, "x", "text/plain"), ""),
        ("PUT", "/v1/plugin/csi/a", Answer(501, "x", "text/plain"), ""),
        ("DELETE", "/v1/job/a%2Fb", Answer(405, "x", "text/plain"), ""),
    ],
)
def test_an_answer_that_is_not_in_it_is_told(method, path, answer, told):
    found = differences(method, path, answer)
    assert (bool(found), told in "".join(found)) == (bool(told), True)


#: What no column of the record could hold.
HUGE = [2**63 - 1, 2**63, 2**64 - 1]


@pytest.mark.parametrize("number", HUGE)
async def test_numbers_beyond_any_column_are_of_nothing(api, job, number):
    answer = await api.get(f"/v1/job/{job.id}/submission", version=str(number))
    assert (answer.status, answer.text) == (404, "job source not found")


@pytest.mark.parametrize("number", HUGE)
async def test_a_stream_from_an_index_beyond_any_column_begins(api, number, monkeypatch):
    monkeypatch.setattr(events, "HEARTBEAT_S", 0.05)
    answer = await api.get("/v1/event/stream", index=str(number))
    # The second line comes after the log was asked.
    assert await first_lines(answer, 2) == [{}, {}]
