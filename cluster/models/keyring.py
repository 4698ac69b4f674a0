"""The cluster's root keys."""

from django.db import models

from cluster.models.fields import choices_of
from cluster.models.read_only import ReadOnlyQuerySet, ReadOnlyRow
from scheduler.state.keyring_noun import ROOT_KEYS
from scheduler.structs.root_key import RootKey, RootKeyState

_KEEPS = "cluster.operations.keyring.keep_keyring"


class RootKeyRow(ReadOnlyRow):
    """What tokens are signed with; the private half is sealed, and shown nowhere."""

    key_id = models.CharField("key", primary_key=True, max_length=36)
    state = models.TextField(
        choices=choices_of(RootKeyState),
        help_text="active signs; all but deprecated prove what they signed.",
    )
    created_at = models.DateTimeField("created", null=True)
    published_at = models.DateTimeField("signs from", null=True, help_text="Empty: at once.")
    body = models.BinaryField()

    objects = ReadOnlyQuerySet["RootKeyRow"].as_manager()
    put_by = (_KEEPS, "cluster.operations.keyring.rotate_root_key")
    removed_by = ("cluster.operations.keyring.delete_root_key",)

    class Meta:
        db_table = "root_key"
        verbose_name = "root key"

    def __str__(self) -> str:
        return self.key_id

    @property
    def value(self) -> RootKey:
        """The whole key, decoded anew at each call."""
        return ROOT_KEYS.decode(self.body)
