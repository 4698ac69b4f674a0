"""Secrets that open a door: of programs, of login links, of joining nodes. Hashes only."""

from django.conf import settings
from django.db import models

from cluster.models.fields import NanosecondsField
from cluster.models.read_only import ReadOnlyQuerySet, ReadOnlyRow, StoreManager
from scheduler.state import nouns
from scheduler.structs.acl_policy import AclPolicy


class OneTimeLoginRow(ReadOnlyRow):
    """A link that logs a user in once."""

    secret_hash = models.CharField(primary_key=True, max_length=64)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    expires = NanosecondsField()
    used = models.BooleanField(default=False)

    objects = ReadOnlyQuerySet["OneTimeLoginRow"].as_manager()
    by_store = StoreManager["OneTimeLoginRow"]()
    put_by = ("cluster.store.tokens.create_login",)
    removed_by = ("cluster.store.tokens.forget_expired",)

    class Meta:
        db_table = "one_time_login"
        verbose_name = "login link"

    def __str__(self) -> str:
        return f"login of {self.user_id}"


class OneTimeTokenRow(ReadOnlyRow):
    """What is exchanged, once, for the secret of an API token; it is sealed under what is sent."""

    accessor_id = models.CharField("accessor", primary_key=True, max_length=36)
    secret_hash = models.CharField(max_length=64, unique=True)
    sealed = models.BinaryField()
    expires = NanosecondsField()

    objects = ReadOnlyQuerySet["OneTimeTokenRow"].as_manager()
    by_store = StoreManager["OneTimeTokenRow"]()
    put_by = ("cluster.store.one_time_tokens.create_one_time_token",)
    removed_by = (
        "cluster.store.one_time_tokens.use_one_time_token",
        "cluster.store.tokens.forget_expired",
    )

    class Meta:
        db_table = "one_time_token"
        verbose_name = "one-time token"

    def __str__(self) -> str:
        return self.accessor_id


class JoinTokenRow(ReadOnlyRow):
    """What an agent shows once, to become a node."""

    secret_hash = models.CharField(primary_key=True, max_length=64)
    name = models.TextField()
    created = NanosecondsField()
    expires = NanosecondsField(default=0, help_text="Empty: never.")
    uses_left = models.IntegerField(default=-1, help_text="-1: without limit.")
    nodes_joined = models.IntegerField(db_default=0, default=0)

    objects = ReadOnlyQuerySet["JoinTokenRow"].as_manager()
    by_store = StoreManager["JoinTokenRow"]()
    put_by = ("cluster.store.join_tokens.add_join_token",)
    removed_by = (
        "cluster.store.join_tokens.revoke_join_token",
        "cluster.store.tokens.forget_expired",
    )

    class Meta:
        db_table = "join_token"
        verbose_name = "join token"

    def __str__(self) -> str:
        return self.name


class JoinedNodeRow(ReadOnlyRow):
    """By which join token a node joined."""

    node_id = models.CharField("node", primary_key=True, max_length=36)
    join_token = models.CharField(max_length=12, db_index=True)
    at = NanosecondsField()

    objects = ReadOnlyQuerySet["JoinedNodeRow"].as_manager()
    by_store = StoreManager["JoinedNodeRow"]()
    put_by = ("cluster.store.join_tokens.use_join_token",)
    removed_by = ("cluster.store.tokens.forget_expired",)

    class Meta:
        db_table = "joined_node"
        verbose_name = "joined node"

    def __str__(self) -> str:
        return self.node_id


class AclPolicyRow(ReadOnlyRow):
    """What the bearers of a policy may do."""

    name = models.TextField(primary_key=True)
    body = models.BinaryField()

    objects = ReadOnlyQuerySet["AclPolicyRow"].as_manager()
    put_by = ("cluster.operations.acl_policies.put_policy",)
    removed_by = ("cluster.operations.acl_policies.delete_policy",)

    class Meta:
        db_table = "acl_policy"
        verbose_name = "access policy"
        verbose_name_plural = "access policies"

    def __str__(self) -> str:
        return self.name

    @property
    def value(self) -> AclPolicy:
        """The whole policy, decoded anew at each call."""
        return nouns.ACL_POLICIES.decode(self.body)
