"""Secrets that open a door: of programs, of login links, of joining nodes. Hashes only."""

from django.conf import settings
from django.db import models


class ApiTokenRow(models.Model):
    """A token for `/v1`. Times are ns; `expires` 0: never."""

    accessor_id = models.CharField(primary_key=True, max_length=36)
    secret_hash = models.CharField(max_length=64, unique=True)
    name = models.TextField()
    #: management or client
    type = models.TextField()
    #: Namespace to `read` or `write`; "*" stands for every namespace.
    capabilities = models.JSONField(default=dict)
    created = models.BigIntegerField()
    expires = models.BigIntegerField(default=0)

    class Meta:
        db_table = "api_token"

    def __str__(self) -> str:
        return self.name or self.accessor_id


class OneTimeLoginRow(models.Model):
    """A link that logs a user in once."""

    secret_hash = models.CharField(primary_key=True, max_length=64)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    expires = models.BigIntegerField()
    used = models.BooleanField(default=False)

    class Meta:
        db_table = "one_time_login"

    def __str__(self) -> str:
        return f"login of {self.user_id}"


class JoinTokenRow(models.Model):
    """What an agent shows once, to become a node. `expires` 0: never."""

    secret_hash = models.CharField(primary_key=True, max_length=64)
    name = models.TextField()
    created = models.BigIntegerField()
    expires = models.BigIntegerField(default=0)
    #: -1: without limit.
    uses_left = models.IntegerField(default=-1)

    class Meta:
        db_table = "join_token"

    def __str__(self) -> str:
        return self.name
