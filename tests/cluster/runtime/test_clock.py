from cluster.runtime.clock import SystemClock


def test_a_moment_is_one_look_at_both_clocks():
    clock = SystemClock()
    before = clock.now(), clock.monotonic()
    moment = clock.moment()
    after = clock.now(), clock.monotonic()
    assert before[0] <= moment.now <= after[0]
    assert before[1] <= moment.monotonic <= after[1]
