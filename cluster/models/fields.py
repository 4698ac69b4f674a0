"""Kinds of columns that several tables share, and how enums become their choices."""

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from django.db import models

if TYPE_CHECKING:
    _Integers = models.BigIntegerField[int, int]
else:
    _Integers = models.BigIntegerField


class NanosecondsField(_Integers):
    """An instant of a table without a body: ns since the Unix epoch; 0: never, or not yet."""

    def deconstruct(self) -> Any:
        """To the database and its migrations it is an integer."""
        name, _path, args, options = super().deconstruct()
        return name, "django.db.models.BigIntegerField", args, options


def choices_of(enum: type[StrEnum]) -> list[tuple[str, str]]:
    """The words of an enum, as stored and as people read them."""
    return [(item.value, item.value.replace("-", " ")) for item in enum]
