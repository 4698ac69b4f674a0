"""Spans on their way out: OTLP over HTTP.

In: spans. Out: whether they arrived. What goes wrong is said by whoever sends.
"""

import ssl
from collections.abc import Sequence
from urllib.parse import unquote

import httpx

from cluster.installation import our_version
from cluster.traces.otlp import encoded
from cluster.traces.spans import EvalSpan

#: An endpoint that takes longer has not answered, s.
TIMEOUT_S = 10.0


class SpanSender:
    """Sends to one endpoint, from one thread."""

    def __init__(
        self, endpoint: str, timeout: float = TIMEOUT_S, headers: str = "", trusted: str = ""
    ) -> None:
        """`endpoint` is the base address; `trusted` a file of authorities, else the usual ones.

        `headers`: `name=value` with commas between them, both as in an address.
        """
        self._address = f"{endpoint.rstrip('/')}/v1/traces"
        told = {
            "Content-Type": "application/x-protobuf",
            "User-Agent": f"bivouac/{our_version()}",
            **_headers(headers),
        }
        tls = ssl.create_default_context(cafile=trusted) if trusted else True
        self._client = httpx.Client(headers=told, timeout=timeout, verify=tls)

    def send(self, spans: Sequence[EvalSpan]) -> bool:
        """Whether all of them arrived. Takes no longer than the timeout and a little."""
        try:
            answer = self._client.post(self._address, content=encoded(spans))
        except httpx.HTTPError:
            return False
        return answer.is_success

    def close(self) -> None:
        """Let go of the connection."""
        self._client.close()


def _headers(text: str) -> dict[str, str]:
    pairs = (pair.partition("=") for pair in text.split(",") if "=" in pair)
    return {unquote(name).strip(): unquote(value).strip() for name, _, value in pairs}
