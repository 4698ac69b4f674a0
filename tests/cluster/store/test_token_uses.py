"""Uses of API tokens: one row for each, written once an hour, without an index."""

import asyncio

import pytest
from django.db import OperationalError

from cluster.store import token_uses
from cluster.store.token_uses import PRECISION, TokenUses, forget_uses
from cluster.store.writer_thread import WriterThread
from scheduler.state.nouns import ACL_TOKENS
from scheduler.structs.acl_token import AclToken

NOON = 1_000 * PRECISION


@pytest.fixture
def writer(record):
    """A thread that counts what it is asked to write."""
    thread = WriterThread(record.alias, lambda _index: None)
    thread.orders = 0
    submit = thread.submit

    def counted(work, *, alone=False):
        thread.orders += 1
        return submit(work, alone=alone)

    thread.submit = counted
    yield thread
    thread.close()


def told(record):
    return record.read(lambda reader: reader.token_uses())


def use(record, uses, *moments, accessor="a"):
    """Note each of these moments; what is in the record once all is written."""

    async def noted():
        for moment in moments:
            uses.note(accessor, moment)
        # The thread works in turn: what is asked for now is done after the rest.
        await uses._writer.submit(lambda: None, alone=True).future

    asyncio.run(noted())
    return told(record)


def test_a_token_in_use_all_the_time_is_written_once_an_hour(record, writer):
    uses, before = TokenUses(record.alias, writer), record.index
    assert use(record, uses, *range(NOON, NOON + PRECISION, PRECISION // 100)) == {"a": NOON}
    assert writer.orders == 2
    assert use(record, uses, NOON + PRECISION) == {"a": NOON + PRECISION}
    assert writer.orders == 4
    assert record.index == before


def test_a_process_leaves_what_another_noted_within_the_hour(record, writer):
    one, other = (TokenUses(record.alias, writer) for _ in range(2))
    use(record, one, NOON)
    assert use(record, other, NOON + PRECISION - 1) == {"a": NOON}
    assert use(record, TokenUses(record.alias, writer), NOON - 5) == {"a": NOON}


@pytest.mark.parametrize(
    ("error", "warnings"),
    [
        pytest.param(OSError("the disk is full"), 1, id="full"),
        # Tried once, and no fault: whoever writes behind it shall not wait.
        pytest.param(OperationalError("database is locked"), 0, id="held"),
    ],
)
def test_a_use_that_could_not_be_written_is_written_with_the_next(
    record, writer, monkeypatch, caplog, error, warnings
):
    uses, tries = TokenUses(record.alias, writer), []

    def fails(*args):
        tries.append(args)
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(token_uses, "write_use", fails)
        assert use(record, uses, NOON) == {}
    assert len(tries) == 1
    assert len([each for each in caplog.records if "token-use" in each.message]) == warnings
    assert use(record, uses, NOON + 1) == {"a": NOON + 1}


def test_uses_of_tokens_that_are_gone_are_forgotten(record, writer):
    token = AclToken(accessor_id="a", name="ci")
    record.write(ACL_TOKENS.upserted, lambda change: change.put(ACL_TOKENS, token), now=1)
    uses = TokenUses(record.alias, writer)
    use(record, uses, NOON)
    use(record, uses, NOON, accessor="gone")
    forget_uses(record)
    assert told(record) == {"a": NOON}
