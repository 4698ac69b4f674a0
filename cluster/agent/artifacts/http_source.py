"""One file over http or https: streamed to the disk, its size bounded, each address judged."""

from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import httpx

from cluster.agent.artifacts.addresses import JudgedTransport
from cluster.agent.artifacts.order import ArtifactRefused, FetchOrder

_CHUNK = 256 * 1024
_REDIRECTS = 10
#: A list of checksums is short.
_MAX_TEXT = 1024 * 1024
#: Called with bytes received, and bytes expected or 0.
Progress = Callable[[int, int], None]


class HttpSource:
    """Reads addresses of one order."""

    def __init__(self, order: FetchOrder) -> None:
        self._order = order
        private = order.limits.private_addresses
        self._client = httpx.Client(
            transport=JudgedTransport(private=private, verify=not order.insecure, retries=2),
            timeout=httpx.Timeout(60.0, connect=15.0),
            headers={"User-Agent": "Bivouac artifact"},
        )

    def close(self) -> None:
        """Let go of connections."""
        self._client.close()

    def fetch(self, into: Path, progress: Progress) -> Path:
        """The file, below `into`, under the name it is to have. Raises ArtifactRefused."""
        name = self._order.options.get("filename") or name_of(self._order.url)
        if Path(name).name != name or name in ("", ".", ".."):
            raise ArtifactRefused(f"{name!r} is no name for a file")
        target = into / name
        limit = self._order.limits.max_size
        with self._opened(self._order.url) as answer, target.open("wb") as file:
            expected = int(answer.headers.get("Content-Length") or 0)
            if expected > limit:
                raise ArtifactRefused(f"it has {expected} bytes, and no more than {limit} may be")
            received = 0
            for chunk in answer.iter_bytes(_CHUNK):
                received += len(chunk)
                if received > limit:
                    raise ArtifactRefused(f"it has more than {limit} bytes")
                file.write(chunk)
                progress(received, expected)
        return target

    def text(self, url: str) -> str:
        """A short text beside it. Raises ArtifactRefused."""
        with self._opened(url) as answer:
            read = b""
            for chunk in answer.iter_bytes(_CHUNK):
                read += chunk
                if len(read) > _MAX_TEXT:
                    raise ArtifactRefused(f"{url} is no list of checksums: it is too long")
        return read.decode(errors="replace")

    def _opened(self, url: str) -> "_Answer":
        return _Answer(self._client, url, self._order.headers)


class _Answer:
    """A response that is being read, after every redirection."""

    def __init__(self, client: httpx.Client, url: str, headers: Mapping[str, str]) -> None:
        self._client = client
        self._url = url
        self._headers = headers

    def __enter__(self) -> httpx.Response:
        url, headers = self._url, dict(self._headers)
        try:
            for _turn in range(_REDIRECTS):
                request = self._client.build_request("GET", url, headers=headers)
                self.response = self._client.send(request, stream=True)
                target = self.response.headers.get("Location")
                if not (300 <= self.response.status_code < 400 and target):
                    break
                self.response.close()
                following = urljoin(url, target)
                if urlsplit(following).scheme not in ("http", "https"):
                    raise ArtifactRefused(f"{url} redirects to {following}, which is not fetched")
                if _origin(following) != _origin(url):
                    # What was meant for one server is not told to another.
                    headers = {}
                url = following
            else:
                raise ArtifactRefused(f"stopped after {_REDIRECTS} redirects")
        except httpx.HTTPError as problem:
            raise ArtifactRefused(f'Get "{url}": {problem}') from problem
        except httpx.InvalidURL as problem:
            raise ArtifactRefused(f"invalid URL: {problem}") from problem
        if self.response.status_code != httpx.codes.OK:
            self.response.close()
            raise ArtifactRefused(f"bad response code: {self.response.status_code}")
        return self.response

    def __exit__(self, kind: type[BaseException] | None, problem: object, _trace: object) -> None:
        self.response.close()
        if kind is not None and issubclass(kind, httpx.HTTPError):
            raise ArtifactRefused(f'Get "{self._url}": {problem}')


def name_of(url: str) -> str:
    """What the file is called at its source."""
    return unquote(urlsplit(url).path).rpartition("/")[2]


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc
