"""One thing that is followed, as one person may see it: what feeds and panels are asked for."""

from urllib.parse import quote, unquote

import msgspec

from dashboard.rights import ListedPaths


class Subscription(msgspec.Struct, frozen=True):
    """A topic and the namespaces it may show. Equal subscriptions share one group of viewers."""

    kind: str
    #: An id, `<namespace>/<job>`, a namespace or `*`; "" where the kind needs none.
    key: str
    #: The namespaces whose rows may be shown; None for all.
    namespaces: frozenset[str] | None
    #: What its viewers may do with it: the buttons that are offered (`dashboard.rights`).
    may: frozenset[str] = frozenset()
    #: The language it is told in.
    language: str = "en"
    #: Of what is listed path by path: the rows that its viewers may see; None for all.
    paths: ListedPaths | None = None

    @property
    def topic(self) -> str:
        """As the browser names it."""
        return topic_text(self.kind, self.key)

    def shows(self, namespace: str) -> bool:
        """Whether a row of this namespace may appear. Rows without namespace may."""
        return not namespace or self.namespaces is None or namespace in self.namespaces


def topic_text(kind: str, key: str) -> str:
    """A topic in one word: a key may hold the comma that parts topics, and more."""
    return f"{kind}:{quote(key, safe='/*')}" if key else kind


def topic_parts(text: str) -> tuple[str, str]:
    """Kind and key of a topic; the inverse of `topic_text`."""
    kind, _, key = text.partition(":")
    return kind, unquote(key)
