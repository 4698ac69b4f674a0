"""Workers in virtual time: what is refused does not depend on the machine."""

from cluster.bench.rush_load import refused_in_rush
from cluster.bench.scenario import Options

SMALL = Options(scale=0.05)


def test_a_worker_alone_is_never_refused():
    assert set(refused_in_rush(SMALL, workers=1).values()) == {0.0}


def test_two_workers_collide_alike_every_time():
    first, again = (refused_in_rush(SMALL, workers=2) for _ in range(2))
    assert first == again
    assert 0.0 < first["p8_refused_share"] < first["p8_unmasked_refused_share"] < 0.5
