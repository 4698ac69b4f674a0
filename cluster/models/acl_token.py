"""Tokens of the API and their roles. What opens a door is kept as a hash, beside the body."""

from django.db import models

from cluster.models.fields import NanosecondsField, choices_of
from cluster.models.read_only import ReadOnlyQuerySet, ReadOnlyRow
from scheduler.state import nouns
from scheduler.structs.acl_token import AclBootstrap, AclRole, AclToken, TokenType


class AclTokenRow(ReadOnlyRow):
    """A token for `/v1`."""

    accessor_id = models.CharField("accessor", primary_key=True, max_length=36)
    name = models.TextField()
    type = models.TextField(
        choices=choices_of(TokenType),
        help_text="management may do everything, client what its policies and roles say.",
    )
    created_at = models.DateTimeField("created", null=True)
    expires_at = models.DateTimeField("expires", null=True, help_text="Empty: never.")
    secret_hash = models.CharField(max_length=64, unique=True, null=True, blank=True)
    body = models.BinaryField()

    objects = ReadOnlyQuerySet["AclTokenRow"].as_manager()
    put_by = (
        "cluster.operations.acl_tokens.create_token",
        "cluster.operations.acl_tokens.update_token",
    )
    removed_by = (
        "cluster.operations.acl_tokens.delete_tokens",
        "cluster.operations.garbage.reap",
    )

    class Meta:
        db_table = "acl_token"
        verbose_name = "API token"

    def __str__(self) -> str:
        return self.name or self.accessor_id

    @property
    def value(self) -> AclToken:
        """The whole token, without its secret, decoded anew at each call."""
        return nouns.ACL_TOKENS.decode(self.body)


class AclTokenUseRow(ReadOnlyRow):
    """When a token was used, to the hour. Written outside the index: a use changes no state."""

    accessor_id = models.CharField("accessor", primary_key=True, max_length=36)
    used_at = NanosecondsField("used", help_text="And perhaps within the hour after that.")

    objects = ReadOnlyQuerySet["AclTokenUseRow"].as_manager()
    put_by = ("cluster.store.token_uses.write_use",)
    removed_by = ("cluster.store.token_uses.forget_uses",)

    class Meta:
        db_table = "acl_token_use"
        verbose_name = "use of an API token"
        verbose_name_plural = "uses of API tokens"

    def __str__(self) -> str:
        return f"use of {self.accessor_id}"


class AclRoleRow(ReadOnlyRow):
    """Policies under one name."""

    id = models.CharField(primary_key=True, max_length=36)
    name = models.TextField(db_index=True)
    body = models.BinaryField()

    objects = ReadOnlyQuerySet["AclRoleRow"].as_manager()
    put_by = ("cluster.operations.acl_roles.put_role",)
    removed_by = ("cluster.operations.acl_roles.delete_role",)

    class Meta:
        db_table = "acl_role"
        verbose_name = "role"

    def __str__(self) -> str:
        return self.name

    @property
    def value(self) -> AclRole:
        """The whole role, decoded anew at each call."""
        return nouns.ACL_ROLES.decode(self.body)


class AclBootstrapRow(ReadOnlyRow):
    """A single row, from the first management token on."""

    name = models.TextField(primary_key=True)
    body = models.BinaryField()

    objects = ReadOnlyQuerySet["AclBootstrapRow"].as_manager()
    put_by = ("cluster.operations.acl_bootstrap.bootstrap",)
    removed_by = ()

    class Meta:
        db_table = "acl_bootstrap"
        verbose_name = "start of access control"
        verbose_name_plural = "start of access control"

    def __str__(self) -> str:
        return self.name

    @property
    def value(self) -> AclBootstrap:
        """Under which index access control was started last, decoded anew at each call."""
        return nouns.ACL_BOOTSTRAP.decode(self.body)
