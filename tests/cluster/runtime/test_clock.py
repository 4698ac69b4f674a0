import uuid

from cluster.runtime.clock import RandomIDs, SystemClock


def test_a_moment_is_one_look_at_both_clocks():
    clock = SystemClock()
    before = clock.now(), clock.monotonic()
    moment = clock.moment()
    after = clock.now(), clock.monotonic()
    assert before[0] <= moment.now <= after[0]
    assert before[1] <= moment.monotonic <= after[1]


def test_identifiers_are_random_uuids_of_the_usual_form():
    drawn = [RandomIDs().next_id() for _ in range(200)]
    assert len(set(drawn)) == 200
    for text in drawn:
        parsed = uuid.UUID(text)
        assert (str(parsed), parsed.version, parsed.variant) == (text, 4, uuid.RFC_4122)
