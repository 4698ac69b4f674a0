"""What the reference answered its own command line is in the API's document, too."""

import gzip
import json
import re

from tests.cluster.api.conformance import differences
from tests.vector_files import VECTORS

#: What the reference answers, and Bivouac never does: see docs/spec/http-api.md.
NEVER_HERE = (
    # A field that always holds the same here (5).
    r".* was expected",
    # Always an object here (5).
    r"GET /v1/jobs: 200 application/json: \d+/JobSummary/Children: null is not of type .*",
)
#: Answers that are read piece by piece.
STREAMS = re.compile(r"/v1/(?:event/stream|agent/monitor|client/fs/logs/.*)")


class Recorded:
    streaming = False

    def __init__(self, exchange):
        # Errors of 500 that a caller made are 400 here (http-api.md 1.6).
        self.status_code = 400 if exchange["Status"] == 500 else exchange["Status"]
        self.headers = exchange["Headers"]
        self.content = exchange["ResponseBody"].encode()


def recorded():
    for path in sorted((VECTORS / "cli").glob("*.jsonl.gz")):
        with gzip.open(path) as file:
            for line in file:
                yield from json.loads(line)["Exchanges"]


def test_every_recorded_answer_is_one_that_the_document_knows():
    found, count = set(), 0
    for exchange in recorded():
        is_whole = exchange["Status"] > 101 and not exchange.get("BodyIsBase64")
        if is_whole and not STREAMS.fullmatch(exchange["Path"]):
            count += 1
            found |= {*differences(exchange["Method"], exchange["Path"], Recorded(exchange))}
    assert [each for each in found if not re.fullmatch("|".join(NEVER_HERE), each)] == []
    assert count > 1_000
