"""Good requests, broken a little, at a real web process: no fault of ours, no unknown answer.

The short run is the same every time; the long one goes on from there by the ten thousand.
"""

from collections import Counter

import httpx
import pytest

from tests.cluster.api.conformance import differences
from tests.cluster.api.mutated_requests import LEFT_OUT, as_json, mutated, recorded
from tests.cluster.api.test_openapi_fuzz import site
from tests.cluster.api.test_shapes import ALLOC, EVAL, NODE

__all__ = ["site"]

KNOWN = {
    "job": ("web", "twice", "etl"),
    "node": (NODE,),
    "allocation": (ALLOC,),
    "evaluation": (EVAL,),
    "deployment": ("dddddddd-0000-0000-0000-000000000001",),
}
#: Its own answer to a question about clients.
SAY_SO = "/v1/agent/health"


class Answered:
    """An answer as the document's comparison reads it."""

    streaming = False

    def __init__(self, response: httpx.Response) -> None:
        self.status_code = response.status_code
        self.headers = {
            name: value
            for name, value in response.headers.items()
            if name.lower() == "content-type"
        }
        self.headers["Content-Type"] = response.headers.get("Content-Type", "")
        self.content = response.content


def sent(site, seeds) -> tuple[list[str], Counter[int]]:
    address, secret = site
    faults, statuses = [], Counter()
    with httpx.Client(base_url=address, headers={"X-Nomad-Token": secret}, timeout=60) as http:
        for seed in seeds:
            request = mutated(seed, KNOWN)
            response = http.request(
                request.method, request.path, params=list(request.query),
                content=None if request.body is None else as_json(request.body),
            )  # fmt: skip
            statuses[response.status_code] += 1
            asked = f"{request.method} {request.path} {request.query}"
            told = f"seed {seed}: {asked}: {response.status_code}"
            if response.status_code == 500 and not request.path.startswith(SAY_SO):
                faults.append(f"{told}: 500 {response.text[:300]}")
            elif response.status_code == 400 and "%00" in str(response.request.url):
                # Refused before anybody asks which route it is.
                faults += (
                    [] if response.headers["Content-Type"].startswith("text/plain") else [told]
                )
            elif request.path.startswith("/v1/"):
                found = differences(
                    request.method, httpx.URL(request.path).path, Answered(response)
                )
                faults += [f"{told} {request.body!r:.300}: {each}" for each in found]
    return faults, statuses


def test_they_are_many_of_all_kinds_and_the_same_each_time():
    forms = {(each.method, each.path.split("/")[2]) for each in recorded()}
    assert len(recorded()) > 100
    assert len(forms) > 30
    assert [mutated(seed, KNOWN) for seed in range(50)] == [
        mutated(seed, KNOWN) for seed in range(50)
    ]
    assert not any(LEFT_OUT.match(each.path) for each in recorded())


def test_none_is_answered_by_a_fault_or_by_what_the_document_does_not_know(site):
    faults, statuses = sent(site, range(400))
    assert not faults, "\n".join([f"{len(faults)} of {statuses.total()}", *faults[:100]])
    assert statuses[200] > 50


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_nor_is_any_of_twenty_thousand(site):
    faults, statuses = sent(site, range(400, 20_400))
    assert not faults, "\n".join([f"{len(faults)} of {statuses.total()}", *faults[:100]])
    assert statuses[200] > 2_500
