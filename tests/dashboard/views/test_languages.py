"""Pages in another language: one is put in for the test; in it every text is in brackets."""

import gettext
import json
import re

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.test import AsyncClient
from django.utils.translation import trans_real

from dashboard.languages import known_language
from dashboard.live.groups import Group
from dashboard.panels import feed_for
from dashboard.subscription import Subscription
from tests.builders import SOME_MOMENT

LEFT, RIGHT = "\u27e6", "\u27e7"


class Bracketed(gettext.NullTranslations):
    """Decorates every text, so that what is not translated can be told from what is."""

    plural = staticmethod(lambda count: int(count != 1))

    def gettext(self, message):
        return f"{LEFT}{message}{RIGHT}"

    def ngettext(self, singular, plural, n):
        return self.gettext(singular if n == 1 else plural)

    def to_language(self):
        return "qq"

    def language(self):
        return "qq"


@pytest.fixture
def bracketed(settings, monkeypatch):
    settings.LANGUAGES = [("en", "English"), ("qq", "In brackets")]
    monkeypatch.setitem(trans_real._translations, "qq", Bracketed())
    monkeypatch.setattr(trans_real, "check_for_language", lambda code: code in ("en", "qq"))
    trans_real.get_languages.cache_clear()
    trans_real._get_supported_language_variant.cache_clear()
    yield
    trans_real.get_languages.cache_clear()
    trans_real._get_supported_language_variant.cache_clear()


@pytest.fixture
def asked(store, bracketed):
    """A page as a browser of some language gets it."""
    client = AsyncClient()
    client.force_login(User.objects.create_superuser("kim"))

    def ask(languages="", path="/help/states/"):
        headers = {"Accept-Language": languages} if languages else {}
        return async_to_sync(client.get)(path, headers=headers)

    return ask


def test_a_page_is_in_the_language_its_browser_asks_for(asked):
    page = asked("qq, en;q=0.5")
    assert '<html lang="qq">' in page.text
    assert f"{LEFT}Skip to content{RIGHT}" in page.text
    assert page.headers["Content-Language"] == "qq"
    assert "Accept-Language" in page.headers["Vary"]


def test_words_of_tables_and_sentences_of_lists_are_translated(asked):
    page = asked("qq", "/stories/")
    assert f"{LEFT}No story yet.{RIGHT}" in page.text
    assert f"{LEFT}Evaluations{RIGHT}" in page.text
    assert f"{LEFT}all shown{RIGHT}" in page.text


def test_a_page_brings_the_texts_of_its_scripts_in_its_language(asked):
    brought = re.search(r'<script id="script-texts"[^>]*>(.*?)</script>', asked("qq").text)[1]
    assert json.loads(brought)["Live again."] == f"{LEFT}Live again.{RIGHT}"
    assert 'id="script-texts"' not in asked().text


def test_live_frames_are_in_the_language_of_the_page(store, bracketed):
    def told(language):
        subscription = Subscription("stories", "", None, language=language)
        group = Group(feed_for(subscription), 0)
        store.read(group.load)
        pieces = store.read(lambda reader: group.whole(reader, 1, SOME_MOMENT))
        return "".join(getattr(piece, "html", "") for piece in pieces if hasattr(piece, "target")
                       and isinstance(piece.html, str))  # fmt: skip

    assert f"{LEFT}all shown{RIGHT}" in told("qq")
    assert f"{LEFT}running{RIGHT}" in told("qq")
    assert LEFT not in told("en")
    assert known_language("qq") == "qq"
    assert known_language("tlh") == known_language("") == "en"


def test_a_browser_of_another_language_gets_english(asked):
    page = asked("tlh")
    assert '<html lang="en">' in page.text
    assert LEFT not in page.text


def test_after_a_page_in_another_language_the_next_is_in_english(asked):
    assert LEFT in asked("qq").text
    assert LEFT not in asked().text
