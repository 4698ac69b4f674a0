"""The fit score: worked examples W1 to W7."""

import math

import numpy as np
import pytest

from scheduler.engine.rank.binpack import fit_score, fit_scores

EXAMPLES = [
    pytest.param((500, 3900, 256, 7936), 0.18178064119742032, 0.8182193588025797, id="W1"),
    pytest.param((1024, 1024, 1024, 1024), 1.0, 0.0, id="W2-full"),
    pytest.param((1024, 3072, 1024, 3072), 0.595379018487469, 0.404620981512531, id="W3"),
    pytest.param((1024, 2048, 2048, 4096), 0.7597469266479577, 0.24025307335204216, id="W4"),
    pytest.param((3600, 4000, 800, 8000), 0.5998773467201677, 0.4001226532798323, id="W5"),
    pytest.param((400, 4000, 7200, 8000), 0.5998773467201677, 0.4001226532798323, id="W5-swapped"),
    pytest.param((0, 4000, 0, 8000), 0.0, 1.0, id="W6-empty"),
    pytest.param((1000, 1100, 1000, 1100), 0.9741281400619926, 1 - 0.9741281400619926, id="W7-a"),
    pytest.param((1000, 1200, 1000, 1200), 0.9480223035975478, 1 - 0.9480223035975478, id="W7-b"),
    pytest.param((1000, 1500, 1000, 1500), 0.8717294788853462, 1 - 0.8717294788853462, id="W7-c"),
    pytest.param((5000, 4000, 9000, 8000), 1.0, 0.0, id="W17-over-full"),
    pytest.param((8000, 10000, 3584, 16000), 0.6913752189833621, 1 - 0.6913752189833621, id="W28"),
]


@pytest.mark.parametrize(("amounts", "binpack", "spread"), EXAMPLES)
def test_the_score_of_one_node(amounts, binpack, spread):
    assert fit_score(*amounts, "binpack") == pytest.approx(binpack, abs=1e-9)
    assert fit_score(*amounts, "spread") == pytest.approx(spread, abs=1e-9)


@pytest.mark.parametrize(("amounts", "binpack", "spread"), EXAMPLES)
def test_the_score_of_a_column(amounts, binpack, spread):
    columns = [np.array([amount, amount], dtype=float) for amount in amounts]
    assert fit_scores(*columns, "binpack").tolist() == pytest.approx([binpack] * 2, abs=1e-9)
    assert fit_scores(*columns, "spread").tolist() == pytest.approx([spread] * 2, abs=1e-9)


def test_any_other_algorithm_is_binpack():
    assert fit_score(1, 2, 1, 2, "fastest") == fit_score(1, 2, 1, 2, "binpack")


def test_a_node_without_capacity_scores_nan():
    assert math.isnan(fit_score(0, 0, 1, 2, "binpack"))
    assert math.isnan(fit_scores(np.zeros(1), np.zeros(1), np.ones(1), np.ones(1), "binpack")[0])
