"""Ways to sign in with a token of elsewhere, and what they give."""

from django.db import models

from cluster.models.read_only import ReadOnlyQuerySet, ReadOnlyRow
from scheduler.state import nouns
from scheduler.structs.acl_auth import AuthMethod, BindingRule


class AclAuthMethodRow(ReadOnlyRow):
    """A way to sign in."""

    name = models.TextField(primary_key=True)
    body = models.BinaryField()

    objects = ReadOnlyQuerySet["AclAuthMethodRow"].as_manager()
    put_by = ("cluster.operations.acl_auth_methods.put_auth_method",)
    removed_by = ("cluster.operations.acl_auth_methods.delete_auth_method",)

    class Meta:
        db_table = "acl_auth_method"
        verbose_name = "auth method"

    def __str__(self) -> str:
        return self.name

    @property
    def value(self) -> AuthMethod:
        """The whole method, decoded anew at each call."""
        return nouns.ACL_AUTH_METHODS.decode(self.body)


class AclBindingRuleRow(ReadOnlyRow):
    """What those get who sign in and match."""

    id = models.CharField(primary_key=True, max_length=36)
    auth_method = models.TextField(db_index=True)
    body = models.BinaryField()

    objects = ReadOnlyQuerySet["AclBindingRuleRow"].as_manager()
    put_by = ("cluster.operations.acl_auth_methods.put_binding_rule",)
    removed_by = ("cluster.operations.acl_auth_methods.delete_binding_rule",)

    class Meta:
        db_table = "acl_binding_rule"
        verbose_name = "binding rule"

    def __str__(self) -> str:
        return self.id

    @property
    def value(self) -> BindingRule:
        """The whole rule, decoded anew at each call."""
        return nouns.ACL_BINDING_RULES.decode(self.body)
