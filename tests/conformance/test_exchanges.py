"""Recorded exchanges of the reference's command line, replayed against a running server.

What differs is printed, with how many are as recorded. A difference without a ruling fails, as do
fewer than a listed share that are as recorded; `docs/exchanges.md` lists rulings and counts.
"""

import gzip
import json
import sys

import pytest

from tests.conformance.exchange_replay import Replay, Shapes
from tests.conformance.exchange_rulings import ruling_of
from tests.conformance.recorded_server import clear, recorded_server
from tests.vector_files import VECTORS

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.timeout(3600)]

CLI = VECTORS / "cli"
FILES = sorted(path.name.removesuffix(".jsonl.gz") for path in CLI.glob("*.jsonl.gz"))
#: Of a hundred exchanges of a file, how many are as recorded at least.
SHARES = {
    "alloc-exec": 95,
    "allocs": 95,
    "cluster": 95,
    "deployments": 90,
    "evaluations": 95,
    "job-batch": 95,
    "job-scale": 93,
    "job-service": 93,
    "nodes": 95,
    "plain-http": 93,
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with recorded_server(tmp_path_factory.mktemp("scratch")) as (_, client):
        yield client


@pytest.mark.parametrize("name", FILES)
def test_what_the_command_line_asks_is_answered_as_recorded(name, server, capsys):
    with gzip.open(CLI / f"{name}.jsonl.gz") as file:
        rows = [json.loads(line) for line in file]
    shapes = Shapes(json.loads((CLI / "shapes.json").read_text("utf-8")))
    compared = list(Replay(server, shapes).play(name, rows))
    differing = [each for each in compared if each.differences]
    same = len(compared) - len(differing)
    told = [each.line[:300] for each in differing]
    moments = sum(bool(each.moments) and not each.differences for each in compared)
    told.append(
        f"{name}: {same} of {len(compared)} exchanges as recorded,"
        f" of them {moments} at another moment of the same life"
    )
    with capsys.disabled():
        sys.stdout.write("\n".join(["", *told, ""]))
    clear(server)
    unruled = [
        f"{each.request}: {text}"
        for each in differing
        for text in each.differences
        if ruling_of(each.route, text) is None
    ]
    assert unruled == []
    assert same * 100 >= SHARES[name] * len(compared)
