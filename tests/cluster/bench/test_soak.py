"""When memory counts as flat, told from samples."""

import pytest

from cluster.bench.soak import Grew, figures_of

SECONDS = 1800.0
LOOKS = range(0, 1800, 10)


def test_memory_that_fills_at_first_and_then_stays_is_flat():
    looks = [(float(at), min(100.0 + at, 400.0)) for at in LOOKS]
    figures = figures_of({"web": looks}, SECONDS)
    assert (figures["web_settled_mb"], figures["web_growth_percent"]) == (400, 0)


def test_memory_that_goes_on_growing_is_named_with_its_process():
    flat = [(float(at), 50.0) for at in LOOKS]
    growing = [(float(at), 100.0 + at / 10) for at in LOOKS]
    with pytest.raises(Grew, match=r"10%: web from 16\d to 27\d MB$"):
        figures_of({"web": growing, "leader": flat}, SECONDS)
