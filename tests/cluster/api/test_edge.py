"""What is answered before a route sees a request: short forms of paths, pages of other origins."""

import pytest
from asgiref.testing import ApplicationCommunicator

from cluster.api.edge import Edge, shortest
from cluster.asgi import application


async def asked(app, method, path, query=b"", **headers):
    """Status and headers of an answer."""
    scope = {
        "type": "http", "method": method, "path": path, "raw_path": path.encode(),
        "query_string": query, "http_version": "1.1", "scheme": "http",
        "headers": [(b"host", b"localhost"), *(
            (name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()
        )],
    }  # fmt: skip
    talk = ApplicationCommunicator(app, scope)
    await talk.send_input({"type": "http.request", "body": b""})
    start = await talk.receive_output(5)
    await talk.receive_output(5)
    await talk.wait(5)
    told = {}
    for name, value in start["headers"]:
        told.setdefault(name.decode().lower(), []).append(value.decode())
    return start["status"], {name: ", ".join(values) for name, values in told.items()}


@pytest.mark.parametrize(
    ("path", "cleaned"),
    [
        (b"/v1/job/web/versions//tag", b"/v1/job/web/versions/tag"),
        (b"/v1//jobs", b"/v1/jobs"),
        (b"/v1/jobs//", b"/v1/jobs/"),
        (b"/v1/./jobs/../nodes", b"/v1/nodes"),
        (b"/v1/../../../login", b"/login"),
        (b"/v1/job/a%2F%2Fb", b"/v1/job/a%2F%2Fb"),
        (b"/v1/job/.hidden", b"/v1/job/.hidden"),
    ],
)
def test_the_shortest_form_of_a_path(path, cleaned):
    assert shortest(path) == cleaned


async def test_a_path_that_is_not_in_its_shortest_form_is_redirected(store):
    status, headers = await asked(application, "GET", "/v1//job/web/./versions", b"diffs=true")
    assert (status, headers["location"]) == (307, "/v1/job/web/versions?diffs=true")
    status, headers = await asked(application, "GET", "/v1/regions")
    assert (status, "location" in headers) == (200, False)


@pytest.mark.parametrize("path", ["/v1/vars", "/v1/client/stats", "/v1/client/fs/ls/x"])
async def test_pages_of_other_origins_may_read_some_routes(store, path):
    origin = {"origin": "https://elsewhere.example"}
    _status, headers = await asked(application, "GET", path, **origin)
    assert headers["access-control-allow-origin"] == "*"
    assert "Origin" in headers["vary"]
    assert "access-control-allow-credentials" not in headers
    _status, headers = await asked(application, "GET", path)
    assert ("access-control-allow-origin" in headers, "Origin" in headers["vary"]) == (False, True)
    _status, headers = await asked(application, "PUT", path, **origin)
    assert "access-control-allow-origin" not in headers


async def test_other_routes_are_for_pages_of_the_own_origin(store):
    _status, headers = await asked(application, "GET", "/v1/jobs", origin="https://a.example")
    assert "access-control-allow-origin" not in headers


async def test_a_browser_is_told_before_what_it_may_send():
    async def nobody(_scope, _receive, _send):
        pytest.fail("asked before is answered by the edge")

    told = {"origin": "https://a.example", "access_control_request_headers": "x-nomad-token"}
    status, headers = await asked(
        Edge(nobody), "OPTIONS", "/v1/vars", access_control_request_method="GET", **told
    )
    assert (status, headers["access-control-allow-methods"]) == (204, "GET")
    assert headers["access-control-allow-headers"] == "x-nomad-token"
    status, headers = await asked(
        Edge(nobody), "OPTIONS", "/v1/vars", access_control_request_method="PUT", **told
    )
    assert (status, "access-control-allow-origin" in headers) == (204, False)
