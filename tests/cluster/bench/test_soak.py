"""When memory counts as flat, told from samples."""

import pytest

from cluster.bench.scenario import WrongCount
from cluster.bench.soak import Grew, check_done, figures_of

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


def test_a_soak_in_which_something_never_happened_is_none():
    done = {"jobs": 9, "changes": 1, "drains": 2, "pages": 99, "returns": 1, "collections": 0}
    check_done(done, 60.0)
    with pytest.raises(WrongCount, match="never done in 1800 s: collections"):
        check_done(done, 1800.0)
