"""The count of scenario rows is honest: ids are read where tests carry them, and nowhere else."""

import pytest

from tests.scenario_rows import CHAPTERS, ids_in


def test_ids_are_read_from_names_and_texts():
    text = '''
    """Rows A01 to A24."""
    def test_g35_g42_a_replacement(): pass
    def test_the_t12_row(): pass
    pytest.param(1, id="T60-W8-below"), pytest.param(2, id="B07")
    node = "C1001"
    '''
    assert ids_in(text) == {"G35", "G42", "T60", "W08", "B07"}


def test_bare_numbers_are_ids_only_in_names_and_before_words():
    text = '''
    """Rows 97 to 105 of it."""
    def test_117_the_older_one(): pass
    def test_2024_was_a_year(): pass
    pytest.param(1, id="08-first"), pytest.param(2, id="116-with-job")
    ports, canary, version = "80-82", "0-canary", "12-1"
    '''
    assert ids_in(text) == {"117", "08", "116"}


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.name)
def test_a_row_is_tested_or_does_not_apply_but_not_both(chapter):
    assert chapter.covered().isdisjoint(chapter.not_applicable)
    assert set(chapter.not_applicable) <= set(chapter.ids)
    assert set(chapter.partly) <= chapter.covered()
    assert chapter.missing() == chapter.not_yet.split()
