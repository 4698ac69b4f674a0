"""The document of the recorded commands says what their replay holds to."""

import re

import pytest

from tests.conformance.command_replay import masked
from tests.conformance.command_rulings import RULINGS, rewritten, ruling_of
from tests.conformance.exchange_rulings import DOCUMENT
from tests.conformance.test_command_line import SHARES


def test_the_document_lists_every_ruling():
    text = DOCUMENT.read_text()
    assert text == rewritten(text), "`python -m tests.conformance.command_rulings` writes it"


def test_the_document_counts_every_file():
    part = DOCUMENT.read_text().partition("<!-- command counts -->")[2]
    rows = re.findall(r"^\| ([a-z-]+) \| (\d+) \| (\d+) \|$", part, re.MULTILINE)
    assert [name for name, _, _ in rows] == [*SHARES]
    assert [name for name, same, count in rows if int(same) > int(count)] == []


@pytest.mark.parametrize("ruling", RULINGS, ids=lambda ruling: ruling.difference[:40])
def test_a_ruling_is_of_one_kind_and_says_why(ruling):
    assert ruling.why.endswith(".")
    assert len(ruling.why.split()) > 5
    re.compile(ruling.route), re.compile(ruling.difference)


@pytest.mark.parametrize(
    ("command", "difference"),
    [
        ("nomad job status web", "out - Status = running"),
        ("nomad job run web.nomad.hcl", "status 0 was wanted, not 1"),
        ("nomad node drain -enable -yes 00000000", "err + Traceback"),
        ("nomad job plan web.nomad.hcl", '+ Job: "web"'),
    ],
)
def test_a_difference_of_another_kind_has_no_ruling(command, difference):
    assert ruling_of(command, difference) is None


def test_what_varies_is_masked_and_nothing_else():
    line = '2026-11-21T09:48:31Z: Alloc "9d83ef71-da3a-876f-a1e5-6d9ee216fdd1" status running'
    assert masked(line) == '<time>: Alloc "<id>" status running'
    assert masked("c33d27d0  front   2  run      running   3m5s ago") == (
        "<id> front 2 run running <age>"
    )
    assert masked("Desired  3") != masked("Desired  2")
