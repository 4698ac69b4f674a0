"""In which language a person is answered: the best of those there are for the browser.

In: a request. Out: the language in force for whatever answers it, and the headers that say so.
"""

from collections.abc import Awaitable, Callable

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.utils import translation
from django.utils.cache import patch_vary_headers

Answer = HttpResponseBase | Awaitable[HttpResponseBase]


class language:  # noqa: N801 - a middleware factory, named like a function
    """Middleware for both kinds of views, without a change of thread."""

    async_capable = True
    sync_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Answer]) -> None:
        self.get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Answer:
        """Serve one request."""
        chosen = translation.get_language_from_request(request)
        request.LANGUAGE_CODE = chosen
        translation.activate(chosen)
        answer = self.get_response(request)
        if isinstance(answer, HttpResponseBase):
            return _told(answer, chosen)
        return _awaited(answer, chosen)


def language_of(request: HttpRequest) -> str:
    """For what is made on another thread, where no language is in force yet."""
    return getattr(request, "LANGUAGE_CODE", translation.get_language())


def known_language(code: str) -> str:
    """A language that pages are in, by its code; English for any other."""
    return code if code in dict(settings.LANGUAGES) else str(settings.LANGUAGE_CODE)


async def _awaited(answer: Awaitable[HttpResponseBase], chosen: str) -> HttpResponseBase:
    return _told(await answer, chosen)


def _told(answer: HttpResponseBase, chosen: str) -> HttpResponseBase:
    patch_vary_headers(answer, ("Accept-Language",))
    answer.headers.setdefault("Content-Language", chosen)
    return answer
