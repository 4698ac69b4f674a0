"""The tables of moves and laws in `docs/simulator.md` are those of the simulator."""

from tests.simulator_document import DOCUMENT, filled


def test_the_tables_are_those_of_the_simulator():
    text = DOCUMENT.read_text()
    assert filled(text) == text, "`python -m tests.simulator_document` writes them anew"
