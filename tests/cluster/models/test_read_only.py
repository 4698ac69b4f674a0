"""No row is written by itself: each way raises, changes nothing and names what to call instead."""

import asyncio
import importlib

import pytest
from django.apps import apps

from cluster.models import EvaluationRow, JoinTokenRow, OneTimeLoginRow
from cluster.models.read_only import ReadOnlyRow, RowsAreReadOnly
from cluster.store.tokens import create_login
from scheduler.state.events import WriteKind
from tests.builders import SOME_MOMENT, make_evaluation

MODELS = [
    pytest.param(model, id=model._meta.db_table)
    for model in apps.get_app_config("cluster").get_models()
]
PUTS = {
    "create": lambda rows: rows.create(),
    "bulk_create": lambda rows: rows.bulk_create([]),
    "bulk_update": lambda rows: rows.bulk_update([], []),
    "get_or_create": lambda rows: rows.get_or_create(),
    "update_or_create": lambda rows: rows.update_or_create(),
    "update": lambda rows: rows.update(),
    "acreate": lambda rows: asyncio.run(rows.acreate()),
    "aupdate": lambda rows: asyncio.run(rows.aupdate()),
}


def named(dotted):
    """What a dotted name means: a function of a module, or of a class in it."""
    module, _, name = dotted.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except ModuleNotFoundError:
        return getattr(named(module), name)


@pytest.mark.parametrize("model", MODELS)
def test_every_table_names_functions_that_exist(model):
    assert issubclass(model, ReadOnlyRow)
    assert model.put_by
    assert all(callable(named(dotted)) for dotted in (*model.put_by, *model.removed_by))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("verb", sorted(PUTS))
def test_no_query_set_makes_or_changes_rows(model, verb):
    with pytest.raises(RowsAreReadOnly) as refusal:
        PUTS[verb](model.objects.all())
    assert all(dotted in str(refusal.value) for dotted in model.put_by)


@pytest.mark.parametrize("model", MODELS)
def test_no_query_set_removes_rows(model):
    with pytest.raises(RowsAreReadOnly) as refusal:
        model.objects.all().delete()
    assert all(dotted in str(refusal.value) for dotted in model.removed_by)
    assert not hasattr(model.objects, "delete")


@pytest.mark.parametrize("model", MODELS)
def test_no_row_saves_or_deletes_itself(model):
    row = model()
    with pytest.raises(RowsAreReadOnly, match=f"{model.__name__}.save: .* {model.put_by[0]}"):
        row.save()
    with pytest.raises(RowsAreReadOnly, match=f"{model.__name__}.delete: "):
        row.delete()
    with pytest.raises(RowsAreReadOnly):
        asyncio.run(row.asave())


def test_what_was_refused_changed_nothing(store):
    evaluation = make_evaluation()
    store.write(
        WriteKind.EVALUATION_UPDATED, lambda c: c.put_evaluation(evaluation), now=SOME_MOMENT
    )
    row = EvaluationRow.objects.get()
    row.status = "complete"
    for attempt in (
        row.save,
        row.delete,
        EvaluationRow.objects.all().update,
        EvaluationRow.objects.all().delete,
    ):
        with pytest.raises(RowsAreReadOnly):
            attempt()
    row.refresh_from_db()
    assert (row.status, row.value) == ("pending", evaluation)


def test_a_message_reads_as_a_sentence():
    with pytest.raises(RowsAreReadOnly) as refusal:
        JoinTokenRow.objects.filter(name="ci").delete()
    assert str(refusal.value) == (
        "JoinTokenRow.objects.delete: join tokens are written by cluster.store alone;"
        " use cluster.store.join_tokens.revoke_join_token or cluster.store.tokens.forget_expired"
    )


def test_a_user_who_goes_takes_login_links_along(store, django_user_model):
    user = django_user_model.objects.create_user("ann")
    create_login(store, user.pk, now=SOME_MOMENT, valid_for=1)
    user.delete()
    assert not OneTimeLoginRow.objects.exists()
