"""Pages in another language: one is put in for the test; in it every text is in brackets."""

import gettext

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.test import AsyncClient
from django.utils.translation import trans_real

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

    def ask(languages=""):
        headers = {"Accept-Language": languages} if languages else {}
        return async_to_sync(client.get)("/help/states/", headers=headers)

    return ask


def test_a_page_is_in_the_language_its_browser_asks_for(asked):
    page = asked("qq, en;q=0.5")
    assert '<html lang="qq">' in page.text
    assert f"{LEFT}Skip to content{RIGHT}" in page.text
    assert page.headers["Content-Language"] == "qq"
    assert "Accept-Language" in page.headers["Vary"]


def test_a_browser_of_another_language_gets_english(asked):
    page = asked("tlh")
    assert '<html lang="en">' in page.text
    assert LEFT not in page.text


def test_after_a_page_in_another_language_the_next_is_in_english(asked):
    assert LEFT in asked("qq").text
    assert LEFT not in asked().text
