"""Secrets: shown once, kept as hashes, worthless when used or expired."""

import pytest
from django.db import connections

from cluster.store.tokens import (
    ApiToken,
    create_api_token,
    create_login,
    delete_api_token,
    find_api_token,
    forget_expired,
    list_api_tokens,
    use_login,
)

TOKEN = ApiToken("accessor", "deploys", "client", {"default": "write"}, created=1, expires=100)


def test_a_token_is_found_by_its_secret_until_it_expires(record):
    secret = create_api_token(record, TOKEN)
    assert len(secret) == 36
    assert find_api_token(record, secret, now=99) == TOKEN
    assert find_api_token(record, secret, now=100) is None
    assert find_api_token(record, secret + "x", now=1) is None
    assert find_api_token(record, "", now=1) is None


def test_the_record_holds_no_secret(record):
    secret = create_api_token(record, TOKEN)
    with connections[record.alias].cursor() as cursor:
        cursor.execute("SELECT * FROM api_token")
        assert secret not in str(cursor.fetchall())


def test_a_token_taken_back_opens_nothing(record):
    secret = create_api_token(record, TOKEN)
    assert list_api_tokens(record) == [TOKEN]
    assert delete_api_token(record, TOKEN.accessor_id)
    assert not delete_api_token(record, TOKEN.accessor_id)
    assert find_api_token(record, secret, now=1) is None


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
