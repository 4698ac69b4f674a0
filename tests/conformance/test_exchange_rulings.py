"""The document of the recorded exchanges says what the replay holds to."""

import re

import pytest

from tests.conformance.exchange_rulings import DOCUMENT, RULINGS, rewritten, ruling_of
from tests.conformance.test_exchanges import FILES


def test_the_document_lists_every_ruling():
    text = DOCUMENT.read_text()
    assert text == rewritten(text), "`python -m tests.conformance.exchange_rulings` writes it"


def test_the_document_counts_every_file():
    part = DOCUMENT.read_text().partition("<!-- end of counts -->")[0]
    rows = re.findall(r"^\| ([a-z-]+) \| (\d+) \| (\d+) \|$", part, re.MULTILINE)
    assert sorted(name for name, _, _ in rows) == FILES
    assert [name for name, same, count in rows if int(same) > int(count)] == []


@pytest.mark.parametrize("ruling", RULINGS, ids=lambda ruling: ruling.difference[:40])
def test_a_ruling_is_of_one_kind_and_says_why(ruling):
    assert ruling.why.endswith(".")
    assert len(ruling.why.split()) > 5
    re.compile(ruling.route), re.compile(ruling.difference)


def test_a_difference_of_another_kind_has_no_ruling():
    assert ruling_of("GET /v1/jobs", "$[0].Name: string was wanted, not None") is None
    assert ruling_of("GET /v1/jobs", "status 200 was wanted, not 500: boom") is None
