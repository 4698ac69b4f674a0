import pytest
import redis

from cluster.runtime.inbox import Inbox
from cluster.runtime.leader_channel import LeaderChannel, LeaderRefused, LeaderUnreachable
from cluster.runtime.leader_protocol import (
    ALIVE,
    INDEX_HINTS,
    LEADER_IN,
    PLANS_DONE,
    AliveBody,
    Done,
    PlansDoneBody,
)
from tests.patience import PATIENCE_S


@pytest.fixture
def inbox(redis_url):
    opened = Inbox(redis_url, epoch=7)
    opened.start()
    yield opened
    opened.stop()


@pytest.fixture
def channel(redis_url):
    opened = LeaderChannel(redis_url, "worker@here")
    yield opened
    opened.close()


def arrived(inbox, count):
    found = []
    while len(found) < count:
        more = inbox.drain(PATIENCE_S)
        assert more, f"only {found} came"
        found += more
    return found


def collected(channel):
    for _ in range(100):
        answers = channel.collect(0.1)
        if answers:
            return answers
    pytest.fail("no answer came")


def done(answer):
    return ALIVE.read_answer(answer)


def test_requests_travel_together_and_in_order(inbox, channel):
    asked = [channel.send(ALIVE, AliveBody("worker", (str(n),))) for n in range(3)]
    channel.flush()
    requests = arrived(inbox, 3)
    assert [request.id for request in requests] == asked
    bodies = [ALIVE.read_body(request) for request in requests]
    assert bodies == [AliveBody("worker", (str(n),)) for n in range(3)]


def test_what_was_sent_stays_until_it_is_old_enough(inbox, channel, redis_url):
    channel.send(ALIVE, AliveBody("worker"))
    channel.flush(older_than_s=3600)
    with redis.Redis.from_url(redis_url) as client:
        assert client.llen(LEADER_IN) == 0
    channel.flush()
    assert [request.kind for request in arrived(inbox, 1)] == ["alive"]


def test_what_was_sent_goes_out_in_one_piece_with_the_question_for_answers(
    inbox, channel, monkeypatch
):
    channel.collect(0.01)
    pieces, write = [], channel._line._write
    monkeypatch.setattr(channel._line, "_write", lambda data: pieces.append(data) or write(data))
    asked = [channel.send(ALIVE, AliveBody("worker")) for _ in range(2)]
    assert channel.collect(0.01) == []
    assert len(pieces) == 1
    assert [request.id for request in arrived(inbox, 2)] == asked


def test_what_the_leader_says_in_a_block_goes_out_at_its_end(inbox, channel):
    asked = [channel.send(ALIVE, AliveBody("worker")) for _ in range(2)]
    channel.flush()
    requests = arrived(inbox, 2)
    with inbox.in_one_piece():
        for request in requests:
            inbox.answer(request, Done())
        assert channel.poll() == []
    assert [answer.id for answer in collected(channel)] == asked


def test_an_answer_reaches_the_sender_with_the_leaders_epoch(inbox, channel):
    asked = channel.send(ALIVE, AliveBody("worker"))
    channel.flush()
    [request] = arrived(inbox, 1)
    inbox.answer(request, Done(index=41))
    [answer] = collected(channel)
    assert (answer.id, done(answer), answer.error) == (asked, Done(index=41), "")
    assert channel.epoch == 7
    assert not channel.has_pending


def test_a_repeated_request_is_answered_again_and_done_once(inbox, channel):
    channel.send(ALIVE, AliveBody("worker"))
    channel.flush()
    [request] = arrived(inbox, 1)
    inbox.answer(request, Done(index=1))
    channel._push([request, request])
    assert inbox.drain(PATIENCE_S) == []
    [answer] = collected(channel)
    assert done(answer) == Done(index=1)


def test_a_refusal_is_raised_with_its_reason(inbox, channel, monkeypatch):
    def refused_at_once(timeout_s):
        channel.flush()
        [request] = arrived(inbox, 1)
        inbox.answer(request, Done(), "Token does not match")
        return collect(timeout_s)

    collect = channel.collect
    monkeypatch.setattr(channel, "collect", refused_at_once)
    with pytest.raises(LeaderRefused, match="Token does not match"):
        channel.call(ALIVE, AliveBody("worker"))


def test_without_a_leader_a_call_gives_up(channel):
    with pytest.raises(LeaderUnreachable, match=r"no answer to alive within 0\.2 s"):
        channel.call(ALIVE, AliveBody("worker"), limit_s=0.2)
    assert not channel.has_pending


def test_polling_brings_what_is_there_and_sends_nothing(inbox, channel):
    asked = channel.send(ALIVE, AliveBody("worker"))
    assert channel.poll() == []
    assert inbox.drain(0.0) == []
    channel.flush()
    (request,) = arrived(inbox, 1)
    inbox.answer(request, Done(5))
    assert [answer.id for answer in channel.poll()] == [asked]
    assert channel.poll() == []


def test_a_new_leader_forgets_what_was_meant_for_the_last_one(redis_url, channel):
    channel.send(ALIVE, AliveBody("worker"))
    channel.flush()
    successor = Inbox(redis_url, epoch=8)
    successor.start()
    try:
        channel.send(PLANS_DONE, PlansDoneBody("applier", ()))
        channel.flush()
        assert [request.kind for request in arrived(successor, 1)] == ["plans_done"]
    finally:
        successor.stop()


def test_rubbish_on_the_list_is_passed_over(inbox, channel, redis_url):
    with redis.Redis.from_url(redis_url) as client:
        client.rpush(LEADER_IN, b"\xc1 not a request")
    channel.send(ALIVE, AliveBody("worker"))
    channel.flush()
    assert [request.kind for request in arrived(inbox, 1)] == ["alive"]


def test_a_moved_index_wakes_the_leader(inbox, redis_url):
    with redis.Redis.from_url(redis_url) as client:
        for _ in range(1000):
            # Heard by someone: the subscription stands.
            if client.publish(INDEX_HINTS, "5"):
                break
    assert inbox.drain(PATIENCE_S) == []
