"""Compositions of *What if* that are kept under a name, for everybody who may look.

In: an account, fields of the form. Out: rows of a table of ours: nothing is scheduled by them, so
they are no noun of the record. Raises OperationRefused for what cannot be kept.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
from django.utils.translation import gettext

from cluster.operations.errors import Conflict, NotAllowed, NotFound, OperationRefused
from cluster.operations.rights import MANAGEMENT
from dashboard.models import SavedComposition
from dashboard.viewer import Viewer
from scheduler.structs.identity import DEFAULT_NAMESPACE

LONGEST_NAME = 80
#: So many are kept; older ones are nobody's to throw away but their owners'.
MOST = 200
#: Kinds of changes that name a job.
_OF_JOBS = frozenset({"count", "stop"})
_SECOND = 1_000_000_000


class Composition(msgspec.Struct, frozen=True, kw_only=True):
    """One that is kept, as a viewer may see it."""

    id: int
    name: str
    fields: dict[str, str]
    by_name: str
    #: Wall clock, ns.
    saved_at: int
    #: Whether the viewer may rename and delete it.
    may_change: bool


def compositions(viewer: Viewer, user: Any) -> list[Composition]:
    """Those that the viewer may see, by name: whoever may read all jobs that one names."""
    rows = SavedComposition.objects.select_related("user").order_by("name")
    told = (_told(row, viewer, user) for row in rows)
    return [each for each in told if all(viewer.sees(name) for name in _namespaces(each.fields))]


def composition(viewer: Viewer, user: Any, saved_id: str) -> Composition | None:
    """One of them; None where there is none of this id that the viewer may see."""
    return next((each for each in compositions(viewer, user) if str(each.id) == saved_id), None)


def save_composition(
    viewer: Viewer, user: Any, name: str, fields: Mapping[str, str]
) -> SavedComposition:
    """Keep it; one of the same name is replaced by whoever may change it."""
    name = _checked(name)
    if not fields:
        raise OperationRefused(gettext("there is no change in it"))
    before = SavedComposition.objects.filter(name=name).first()
    if before is not None and not _may_change(before, viewer, user):
        raise Conflict(gettext("somebody else keeps one under this name"))
    if before is None and SavedComposition.objects.count() >= MOST:
        raise OperationRefused(
            gettext("{most} are kept already: delete one first").format(most=MOST)
        )
    kept = {
        "fields": json.dumps(dict(fields), ensure_ascii=False),
        "saved_at": datetime.fromtimestamp(viewer.now / _SECOND, UTC),
    }
    if before is None:
        return SavedComposition.objects.create(name=name, user=user, **kept)
    SavedComposition.objects.filter(pk=before.pk).update(**kept)
    return before


def rename_composition(viewer: Viewer, user: Any, saved_id: str, name: str) -> tuple[str, str]:
    """Give it another name; the names before and after."""
    name, row = _checked(name), _own(viewer, user, saved_id)
    others = SavedComposition.objects.filter(name=name).exclude(pk=row.pk)
    if others.exists():
        raise Conflict(gettext("there is one of this name"))
    SavedComposition.objects.filter(pk=row.pk).update(name=name)
    return row.name, name


def delete_composition(viewer: Viewer, user: Any, saved_id: str) -> str:
    """Forget it; its name."""
    row = _own(viewer, user, saved_id)
    row.delete()
    return row.name


def _own(viewer: Viewer, user: Any, saved_id: str) -> SavedComposition:
    seen = composition(viewer, user, saved_id)
    if seen is None:
        raise NotFound(gettext("no composition has this number"))
    if not seen.may_change:
        raise NotAllowed(missing=MANAGEMENT)
    return SavedComposition.objects.get(pk=seen.id)


def _checked(name: str) -> str:
    name = " ".join(name.split())
    if not name:
        raise OperationRefused(gettext("it needs a name"))
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise OperationRefused(
            gettext("a name has at most {most} characters that can be printed").format(
                most=LONGEST_NAME
            )
        )
    return name


def _told(row: SavedComposition, viewer: Viewer, user: Any) -> Composition:
    return Composition(
        id=row.pk,
        name=row.name,
        fields={str(name): str(value) for name, value in json.loads(row.fields).items()},
        by_name=row.user.get_username() if row.user is not None else "",
        saved_at=round(row.saved_at.timestamp() * _SECOND),
        may_change=_may_change(row, viewer, user),
    )


def _may_change(row: SavedComposition, viewer: Viewer, user: Any) -> bool:
    return viewer.access.is_management or row.user_id == user.pk


def _namespaces(fields: Mapping[str, str]) -> Iterator[str]:
    """Of the jobs that it names."""
    for name, kind in fields.items():
        place, _, field = name.partition("-")
        if field == "kind" and kind in _OF_JOBS:
            yield fields.get(f"{place}-namespace") or DEFAULT_NAMESPACE
