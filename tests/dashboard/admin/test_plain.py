"""Pages of plain nouns: every one keyed by name has a list and a read-only form."""

import html

import pytest
from django.apps import apps
from django.contrib.admin import site
from django.contrib.auth.models import User
from django.test import Client

from scheduler.state.nouns import NAMESPACES, NOUNS
from scheduler.structs.job import Namespace
from tests.builders import SOME_MOMENT

MODELS = {model._meta.db_table: model for model in apps.get_app_config("cluster").get_models()}
BY_NAME = [noun for noun in NOUNS if noun.key_columns == ("name",)]


@pytest.fixture
def operator(store):
    """The administrator's browser, and a namespace with much to say."""
    team = Namespace(name="team", description="People of the <b>team</b>")
    store.write(NAMESPACES.upserted, lambda change: change.put(NAMESPACES, team), now=SOME_MOMENT)
    client = Client()
    client.force_login(User.objects.create_superuser("kim"))
    return client


@pytest.mark.parametrize("noun", BY_NAME, ids=lambda noun: noun.table)
def test_every_noun_by_name_has_a_list(operator, noun):
    model = MODELS[noun.table]
    assert site.is_registered(model)
    answer = operator.get(f"/admin/cluster/{model._meta.model_name}/")
    assert answer.status_code == 200
    assert str(model._meta.verbose_name_plural).capitalize() in answer.content.decode()


def test_a_form_shows_the_body_and_changes_nothing(operator):
    page = operator.get("/admin/cluster/namespacerow/team/change/").content.decode()
    assert '"Description": "People of the <b>team</b>"' in html.unescape(page)
    assert "<b>team" not in page
    assert '<a href="/namespaces/team/">/namespaces/team/</a>' in page
    assert 'name="_save"' not in page
    refused = operator.post("/admin/cluster/namespacerow/team/change/", {"name": "x"})
    assert refused.status_code == 403
    assert "Rows of the record are not written by hand" in refused.content.decode()


def test_the_list_is_searched_by_name(operator):
    found = operator.get("/admin/cluster/namespacerow/", {"q": "tea"}).content.decode()
    assert "team</a>" in found
    assert "default</a>" not in found
