"""Secrets: shown once, kept as hashes, worthless when used or expired."""

import pytest
from django.db import connections

from cluster.operations.acl_rights import bearer_of
from cluster.store.one_time_tokens import create_one_time_token, use_one_time_token
from cluster.store.tokens import create_login, find_token, forget_expired, new_secret, use_login
from scheduler.state.nouns import ACL_TOKENS
from tests.cluster.api.clients import NOW, accessor_of, make_token, put


def everything_in(record):
    """All that the database holds, as text, binary columns as they are."""
    with connections[record.alias].cursor() as cursor:
        held = []
        for table in connections[record.alias].introspection.table_names(cursor):
            cursor.execute(f"SELECT * FROM {table}")  # noqa: S608 - names of our own tables only
            for row in cursor.fetchall():
                held += [
                    bytes(cell).decode("latin-1") if isinstance(cell, bytes | memoryview) else cell
                    for cell in row
                ]
    return " ".join(map(str, held))


def test_a_token_is_found_by_its_secret_and_by_nothing_else(record):
    secret = make_token(record, "deploys", team="write")
    assert len(secret) == 36
    assert find_token(record, secret).token.accessor_id == accessor_of("deploys")
    for other in (secret + "x", secret.upper(), "", "x" * 300, accessor_of("deploys")):
        assert find_token(record, other) is None


def test_an_expired_token_opens_nothing(record):
    secret = make_token(record, "deploys", expires=NOW + 100, team="write")
    assert bearer_of(record, secret, now=NOW + 99).token.name == "deploys"
    assert bearer_of(record, secret, now=NOW + 100) is None


def test_the_record_and_its_event_log_hold_no_secret(record):
    secret = make_token(record, "deploys", team="write")
    text = create_one_time_token(record, accessor_of("deploys"), secret, expires=NOW)
    held = everything_in(record)
    assert "deploys" in held
    assert secret not in held
    assert text not in held


def test_a_token_written_again_keeps_its_secret(record):
    secret = make_token(record, "deploys", team="write")
    token = find_token(record, secret).token
    put(record, lambda change: change.put(ACL_TOKENS, token))
    assert find_token(record, secret).token == token


def test_a_token_taken_back_opens_nothing(record):
    secret = make_token(record, "deploys")
    put(record, lambda change: change.delete(ACL_TOKENS, accessor_of("deploys")))
    assert find_token(record, secret) is None


def test_a_one_time_token_gives_the_secret_back_once(record):
    text = create_one_time_token(record, "accessor", "the secret", expires=10)
    assert use_one_time_token(record, text + "x", now=5) is None
    assert use_one_time_token(record, text, now=5) == "the secret"
    assert use_one_time_token(record, text, now=5) is None


def test_a_one_time_token_ends_with_the_next_one_and_with_its_time(record):
    first = create_one_time_token(record, "accessor", "the secret", expires=10)
    second = create_one_time_token(record, "accessor", "the secret", expires=10)
    assert use_one_time_token(record, first, now=5) is None
    assert use_one_time_token(record, second, now=10) is None
    assert use_one_time_token(record, second, now=9) == "the secret"
    third = create_one_time_token(record, "accessor", "the secret", expires=10)
    forget_expired(record, now=10)
    assert use_one_time_token(record, third, now=5) is None


def test_no_two_secrets_are_the_same():
    assert len({new_secret() for _ in range(100)}) == 100


@pytest.fixture
def user_id(record):
    from django.contrib.auth.models import User

    return User.objects.using(record.alias).create(username="ann").pk


def test_a_login_works_once(record, user_id):
    secret = create_login(record, user_id, now=1, valid_for=10)
    assert use_login(record, secret, now=5) == user_id
    assert use_login(record, secret, now=5) is None


def test_a_login_expires(record, user_id):
    secret = create_login(record, user_id, now=1, valid_for=10)
    assert use_login(record, secret, now=11) is None
    forget_expired(record, now=11)
    assert use_login(record, secret, now=5) is None
