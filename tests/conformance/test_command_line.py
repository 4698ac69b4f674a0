"""The reference's command line itself, every recorded command of it, against a running server.

Where a program `nomad` is on the PATH, or named by TEST_NOMAD. What it says is compared
with what it said to its own server; a difference without a ruling fails. `docs/exchanges.md` lists
rulings and counts.
"""

import gzip
import json
import sys

import pytest

from tests.conformance.command_replay import CommandReplay
from tests.conformance.command_rulings import ruling_of
from tests.conformance.exchange_replay import Shapes
from tests.conformance.recorded_server import clear, recorded_server
from tests.nomad_program import PROGRAM
from tests.vector_files import VECTORS

pytestmark = [
    pytest.mark.live,
    pytest.mark.long,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(PROGRAM is None, reason="the reference's command line is not here"),
]

CLI = VECTORS / "cli"
#: Of a hundred commands of a file, how many are as recorded at least. In the order of the
#: recording: lists show what was before.
SHARES = {
    "job-service": 90,
    "job-batch": 90,
    "job-scale": 90,
    "deployments": 90,
    "allocs": 60,
    "alloc-exec": 85,
    "nodes": 70,
    "evaluations": 70,
    "cluster": 60,
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with recorded_server(tmp_path_factory.mktemp("scratch")) as found:
        yield found


@pytest.mark.parametrize("name", SHARES)
def test_it_says_what_it_says_to_its_own_server(name, server, tmp_path, capsys):
    address, client = server
    with gzip.open(CLI / f"{name}.jsonl.gz") as file:
        rows = [json.loads(line) for line in file]
    shapes = Shapes(json.loads((CLI / "shapes.json").read_text("utf-8")))
    said = list(CommandReplay(PROGRAM, address, client, shapes, tmp_path).run(name, rows))
    differing = [each for each in said if each.differences]
    told = [f"{each.command}: {text}"[:300] for each in differing for text in each.differences]
    told.append(f"{name}: {len(said) - len(differing)} of {len(said)} commands as recorded")
    with capsys.disabled():
        sys.stdout.write("\n".join(["", *told, ""]))
    clear(client)
    unruled = [
        f"{each.command}: {text}"
        for each in differing
        for text in each.differences
        if ruling_of(each.command, text) is None
    ]
    assert unruled == []
    assert (len(said) - len(differing)) * 100 >= SHARES[name] * len(said)
