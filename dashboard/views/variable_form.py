"""The form of a variable's items: what was sent, and the items that it asks for.

In: the fields of a form, the items stored. Out: rows as they were typed, and the items, or every
problem. The form holds no stored value: a row says whether its value is kept, set or removed.
"""

from collections.abc import Iterable, Mapping

import msgspec
from django.http import QueryDict
from django.utils.translation import gettext

from cluster.operations.errors import OperationRefused

KEEP, SET, REMOVE = "keep", "set", "remove"
#: Empty rows below those that are there.
EMPTY_ROWS = 3


class ItemRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the form. `was`: the stored key it began with, "" for a new one."""

    was: str = ""
    key: str = ""
    deed: str = SET
    value: str = ""

    @property
    def is_blank(self) -> bool:
        """Whether nothing was typed into a new row."""
        return not (self.was or self.key or self.value)


def rows_of(keys: Iterable[str], empty: int = EMPTY_ROWS) -> list[ItemRow]:
    """The rows of stored keys, and empty ones."""
    there = [ItemRow(was=key, key=key, deed=KEEP) for key in keys]
    return [*there, *[ItemRow()] * empty]


def sent_rows(form: QueryDict) -> list[ItemRow]:
    """The rows as they were typed. Raises OperationRefused for a form without its values."""
    columns = [form.getlist(name) for name in ("was", "item", "deed", "item_value")]
    if len({len(column) for column in columns}) != 1:
        raise OperationRefused(gettext("the form came without its values; open it again"))
    return [
        # Browsers send the lines of a form with CRLF.
        ItemRow(was=was, key=key.strip(), deed=deed, value=value.replace("\r\n", "\n"))
        for was, key, deed, value in zip(*columns, strict=True)
    ]


def items_asked(
    rows: Iterable[ItemRow], stored: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """The items that the rows ask for, and every problem."""
    items: dict[str, str] = {}
    problems = []
    for number, row in enumerate(rows, 1):
        if row.is_blank or row.deed == REMOVE:
            continue
        key = row.key or row.was
        # What was typed counts, whatever the choice beside it says.
        is_kept = row.deed == KEEP and not row.value
        if not key:
            problems.append(gettext("Row {number} has a value and no key.").format(number=number))
        elif key in items:
            problems.append(
                gettext("Row {number}: the key {key} is there twice.").format(
                    number=number, key=key
                )
            )
        elif is_kept and row.was not in stored:
            problems.append(
                gettext("Row {number}: there is no value of {was} to keep.").format(
                    number=number, was=row.was
                )
            )
        else:
            items[key] = stored[row.was] if is_kept else row.value
    return items, problems
