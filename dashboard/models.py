"""What we keep beside Django's groups and accounts: policies of groups, what people chose.

No scheduling state: rows here have no index and no event, and the admin writes them.
"""

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models

#: In place of a policy's name, which cannot be spelled so: everything.
MANAGEMENT = "*"
#: A group `namespace:<name>` lets its people look into that namespace, without any policy.
OPENS = "namespace:"


class GroupPolicy(models.Model):
    """That the people of a group have what a policy of the record grants."""

    group = models.ForeignKey(Group, on_delete=models.CASCADE, related_name="policies")
    policy = models.CharField(max_length=128, help_text="Its name; * stands for everything.")

    class Meta:
        db_table = "group_policy"
        verbose_name = "policy of a group"
        verbose_name_plural = "policies of groups"
        constraints = [
            models.UniqueConstraint(fields=["group", "policy"], name="group_policy_once")
        ]

    def __str__(self) -> str:
        return self.policy


class ProviderAccount(models.Model):
    """Who an account is to the provider that signs it in, and the groups that it gave.

    Groups given here are not among them: the provider takes away only what it gave.
    """

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="provider_account"
    )
    issuer = models.CharField(max_length=255)
    subject = models.CharField(max_length=255)
    groups = models.ManyToManyField(Group, blank=True)

    class Meta:
        db_table = "provider_account"
        verbose_name = "account of a provider"
        verbose_name_plural = "accounts of a provider"
        constraints = [
            models.UniqueConstraint(fields=["issuer", "subject"], name="provider_account_once")
        ]

    def __str__(self) -> str:
        return f"{self.subject} of {self.issuer}"


class NoticeChoice(models.Model):
    """Of what somebody wants to be told by the own browsers."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notice_choice"
    )
    kinds = models.CharField(max_length=255, blank=True, help_text="Words with blanks between.")
    blocked_after = models.PositiveIntegerField(
        default=300, help_text="Seconds that a job waits for room before that is told."
    )

    class Meta:
        db_table = "notice_choice"
        verbose_name = "choice of notifications"
        verbose_name_plural = "choices of notifications"

    def __str__(self) -> str:
        return self.kinds


class OwnToken(models.Model):
    """Whose an API token is: the account that made it on its own page.

    What the token may do stands in the record; a row without one is of a token that is gone. An
    account that is deleted leaves its rows without it, so that its tokens open nothing more.
    """

    accessor_id = models.CharField("accessor", primary_key=True, max_length=36)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="own_tokens"
    )

    class Meta:
        db_table = "own_token"
        verbose_name = "own token"

    def __str__(self) -> str:
        return self.accessor_id


class SavedComposition(models.Model):
    """Changes that somebody composed on *What if*, kept under a name."""

    name = models.CharField(max_length=80, unique=True)
    fields = models.TextField(help_text="Of the form, in JSON.")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="compositions"
    )
    saved_at = models.DateTimeField("saved")

    class Meta:
        db_table = "saved_composition"
        verbose_name = "saved composition"

    def __str__(self) -> str:
        return self.name
