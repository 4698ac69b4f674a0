"""Leases: one holder, a take-over after five seconds of standing still, epochs that only grow."""

from cluster.store.leases import HeldLease, LeaseKeeper, epoch_of


def keepers(record, count=2):
    return [LeaseKeeper("leader", f"process-{number}", record.alias) for number in range(count)]


def test_the_first_who_asks_gets_it(record):
    first, second = keepers(record)
    assert first.step(0.0) == HeldLease("leader", 1)
    assert second.step(0.0) is None
    assert epoch_of("leader", record.alias) == 1
    assert epoch_of("applier", record.alias) == 0


def test_a_lease_that_is_renewed_is_not_taken_over(record):
    first, second = keepers(record)
    for moment in range(20):
        assert first.step(float(moment)) == HeldLease("leader", 1)
        assert second.step(float(moment)) is None


def test_a_lease_that_stands_still_for_five_seconds_is_taken_over(record):
    first, second = keepers(record)
    first.step(0.0)
    assert [second.step(moment) for moment in (100.0, 104.9)] == [None, None]
    assert second.step(105.0) == HeldLease("leader", 2)
    assert first.step(106.0) is None
    assert first.held is None


def test_a_lease_of_a_holder_known_to_be_dead_is_taken_at_once(record):
    first = LeaseKeeper("leader", "died", record.alias)
    watcher = LeaseKeeper("leader", "watcher", record.alias, is_dead=lambda name: name == "died")
    other = LeaseKeeper("leader", "other", record.alias, is_dead=lambda name: name == "died")
    first.step(0.0)
    assert watcher.step(0.0) == HeldLease("leader", 2)
    assert other.step(0.0) is None
    assert first.step(0.1) is None


def test_a_released_lease_is_taken_at_once(record):
    first, second = keepers(record)
    first.step(0.0)
    assert second.step(0.0) is None
    first.release()
    assert second.step(0.1) == HeldLease("leader", 2)


def test_of_two_who_see_the_same_standstill_one_gets_it(record):
    first, second, third = keepers(record, 3)
    first.step(0.0)
    second.step(0.0)
    third.step(0.0)
    assert [second.step(9.0), third.step(9.0)] == [HeldLease("leader", 2), None]


def test_who_takes_a_lease_learns_how_far_the_one_before_had_followed(record):
    first, second = keepers(record)
    first.step(0.0)
    assert first.followed_before == 0
    first.step(1.0, 17)
    # A renewal that says nothing takes nothing back.
    first.step(2.0)
    second.step(2.0)
    assert second.step(7.0) == HeldLease("leader", 2)
    assert second.followed_before == 17
