"""Rows that can be asked and not written: `cluster.store` alone writes them.

In: calls of Django's writing methods. Out: an error that names what to call instead. A write has
an index, an event and rules that a row knows nothing of.
"""

from collections.abc import Callable
from typing import ClassVar, NoReturn, TypeVar

from django.db import models

Row = TypeVar("Row", bound=models.Model)

_Refusing = models.QuerySet[models.Model] | models.Model


class RowsAreReadOnly(TypeError):
    """A row was to be written by itself. Says which function makes the change, with its event."""

    def __init__(self, model: type[models.Model], verb: str) -> None:
        assert issubclass(model, ReadOnlyRow), "no other row is refused"
        functions = model.removed_by if verb.endswith("delete") else model.put_by
        instead = f"use {' or '.join(functions)}" if functions else "nothing does that to them"
        super().__init__(
            f"{model.__name__}.{verb}: {model._meta.verbose_name_plural} are written by"
            f" cluster.store alone; {instead}"
        )


def _refused(verb: str) -> Callable[..., NoReturn]:
    """A method of a query set or a row that raises RowsAreReadOnly whatever it is given."""

    def refuse(self: _Refusing, *_args: object, **_options: object) -> NoReturn:
        model = self.model if isinstance(self, models.QuerySet) else type(self)
        raise RowsAreReadOnly(model, verb)

    # Templates call no such method.
    refuse.alters_data = True  # type: ignore[attr-defined]  # read by Django's templates
    # As in Django, `delete` is of query sets only, so that no manager deletes a whole table.
    refuse.queryset_only = verb == "objects.delete"  # type: ignore[attr-defined]  # read by Django
    return refuse


class ReadOnlyQuerySet(models.QuerySet[Row]):
    """Finds rows. Every method that writes raises, the asynchronous ones as well."""

    create = _refused("objects.create")
    bulk_create = _refused("objects.bulk_create")
    bulk_update = _refused("objects.bulk_update")
    get_or_create = _refused("objects.get_or_create")
    update_or_create = _refused("objects.update_or_create")
    update = _refused("objects.update")
    delete = _refused("objects.delete")


class ReadOnlyRow(models.Model):
    """A row of a table that only `cluster.store` writes: `save` and `delete` raise."""

    #: What to call to make or change a row, and to remove one: dotted names.
    put_by: ClassVar[tuple[str, ...]]
    removed_by: ClassVar[tuple[str, ...]]

    class Meta:
        abstract = True

    save = _refused("save")
    delete = _refused("delete")


class StoreManager(models.Manager[Row]):
    """The way in for `cluster.store`, where it writes a table outside the index through Django."""

    def insert(self, alias: str, row: Row, *, or_replace: bool = False) -> None:
        """Add a row; with `or_replace` in the place of the one under its key."""
        if not or_replace:
            self.using(alias).bulk_create([row])
            return
        key = row._meta.pk
        assert key is not None, "every table has a key"
        others = [field.name for field in row._meta.concrete_fields if field is not key]
        self.using(alias).bulk_create(
            [row], update_conflicts=True, update_fields=others, unique_fields=[key.name]
        )
