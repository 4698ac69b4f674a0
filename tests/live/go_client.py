"""A caller with the habits of the reference's Go client: what it sends, and what it then wants.

In: paths, parameters, bodies. Out: bodies that were decoded as strictly as there: 200 is the only
good status, nothing to decode where something is wanted is an error, and every key has the type
that the reference gave it. Made on the socket's own terms: which headers are sent, and how a body
is framed, is what is looked at, so that no library may add its own.
"""

import gzip
import json
from contextlib import contextmanager
from http.client import HTTPConnection
from urllib.parse import quote_plus, urlencode, urlsplit

from websockets.sync.client import connect

from tests.cluster.api.shape_match import differences
from tests.conformance.exchange_replay import Shapes
from tests.vector_files import VECTORS

SHAPES = Shapes(json.loads((VECTORS / "cli" / "shapes.json").read_text("utf-8")))
#: Parameters that a call sets itself: their name there, and their name on the way.
OPTIONS = {
    "wait_index": "index", "prefix": "prefix", "filter": "filter", "per_page": "per_page",
    "next_token": "next_token", "namespace": "namespace", "region": "region",
}  # fmt: skip
#: Its encoder writes these so, that a text may stand inside a page.
_FOR_PAGES = {"<": r"\u003c", ">": r"\u003e", "&": r"\u0026"}


class Unexpected(Exception):
    """An answer whose status is not the one that a call takes."""

    def __init__(self, status, body):
        super().__init__(f"Unexpected response code: {status} ({body})")
        self.status, self.body = status, body


class Meta:
    """What is read of an answer's headers."""

    def __init__(self, headers):
        self.index = int(headers.get("X-Nomad-Index", 0))
        self.contact_ms = int(headers.get("X-Nomad-LastContact", 0))
        self.has_leader = headers.get("X-Nomad-KnownLeader") == "true"
        self.next_token = headers.get("X-Nomad-NextToken", "")


class GoClient:
    """Keeps one connection for its calls; a stream has one of its own."""

    def __init__(self, address, token="", headers=None):
        self._host = urlsplit(address).netloc
        self._token, self._headers = token, headers or {}
        self._kept = HTTPConnection(self._host, timeout=60)

    def close(self):
        self._kept.close()

    def query(self, path, **options):
        """A read: the body, and what the headers say. None for a body that nobody wants."""
        return self._decoded("GET", path, None, options)

    def put(self, path, body=None, **options):
        return self._decoded("PUT", path, body, options)

    def post(self, path, body=None, **options):
        return self._decoded("POST", path, body, options)

    def delete(self, path, body=None, **options):
        return self._decoded("DELETE", path, body, options)

    def send(self, path, pieces):
        """A PUT of what is read from a file: its length is not known before."""
        return self._decoded("PUT", path, pieces, {"out": False})

    @contextmanager
    def raw(self, path, **options):
        """The answer itself, unread; its connection ends with the block."""
        connection = HTTPConnection(self._host, timeout=30)
        try:
            answer = self._exchange(connection, "GET", path, None, options)
            if answer.status != 200:
                raise Unexpected(answer.status, _plain(answer))
            yield answer
        finally:
            connection.close()

    def websocket(self, path, **params):
        """As its dialer opens one: no compression, the token in a header."""
        return connect(
            f"ws://{self._host}{_target(path, {'params': params})}",
            additional_headers=self._sent_headers(), compression=None, open_timeout=30,
            user_agent_header="Go-http-client/1.1",
        )  # fmt: skip

    def _decoded(self, method, path, body, options):
        answer = self._exchange(self._kept, method, path, body, options)
        text = _plain(answer)
        if answer.status not in options.get("takes", (200,)):
            raise Unexpected(answer.status, text)
        if not options.get("out", True):
            # Where nothing is decoded, an answer must say that it is empty.
            if method == "GET":
                assert answer.headers["Content-Length"] == "0", f"{path}: {text}"
            return None, Meta(answer.headers)
        assert answer.headers.get("Content-Length") != "0", f"{path}: nothing to decode"
        found = json.loads(text)
        _, told = SHAPES.find(method, urlsplit(path).path)
        if told is not None and answer.status == 200:
            # Null is nil to it, of whatever type the field is, and so is what is missing; what a
            # policy says is of any type.
            strange = [each for each in differences(told["Response"], found)
                       if not each.endswith(("not None", "is missing"))
                       and not each.startswith("$.Policy.")]  # fmt: skip
            assert strange == [], f"{method} {path}: {strange}"
        return found, Meta(answer.headers)

    def _exchange(self, connection, method, path, body, options):
        connection.putrequest(method, _target(path, options), skip_accept_encoding=True)
        connection.putheader("User-Agent", "Go-http-client/1.1")
        is_file = body is not None and not isinstance(body, dict | list)
        content = b"" if body is None or is_file else encoded(body)
        if is_file:
            connection.putheader("Transfer-Encoding", "chunked")
        elif content or method in {"PUT", "POST"}:
            connection.putheader("Content-Length", str(len(content)))
        for name, value in self._sent_headers().items():
            connection.putheader(name, value)
        connection.endheaders(body if is_file else content or None, encode_chunked=is_file)
        return connection.getresponse()

    def _sent_headers(self):
        token = {"X-Nomad-Token": self._token} if self._token else {}
        return {**self._headers, "Accept-Encoding": "gzip", **token}


def encoded(body):
    """JSON as its encoder writes it: no blanks, three characters escaped, a newline behind."""
    text = json.dumps(body, separators=(",", ":"), ensure_ascii=False)
    for character, written in _FOR_PAGES.items():
        text = text.replace(character, written)
    return f"{text}\n".encode()


def frames(answer):
    """The values of a stream without its heartbeats, one behind another in whatever pieces."""
    assert answer.headers.get("Content-Encoding") is None
    decoder, text = json.JSONDecoder(), ""
    while piece := answer.read1(65536):
        text = (text + piece.decode()).lstrip()
        while text:
            try:
                value, end = decoder.raw_decode(text)
            except ValueError:
                break
            text = text[end:].lstrip()
            if value:
                yield value


def _target(path, options):
    """The address: parameters in the order of their names, a blank as a plus."""
    found = [tuple(each.split("=", 1)) if "=" in each else (each, "")
             for each in urlsplit(path).query.split("&") if each]  # fmt: skip
    set_here = {OPTIONS[name]: str(value) for name, value in options.items() if name in OPTIONS}
    if "wait_s" in options:
        set_here["wait"] = f"{round(options['wait_s'] * 1000)}ms"
    if options.get("stale"):
        set_here["stale"] = ""
    if options.get("reverse"):
        set_here["reverse"] = "true"
    given = options.get("params", {})
    pairs = [*found, *set_here.items()]
    for name, value in given.items():
        pairs += [(name, each) for each in (value if isinstance(value, list) else [value])]
    pairs.sort(key=lambda pair: pair[0])
    query = urlencode(pairs, quote_via=quote_plus)
    return urlsplit(path).path + (f"?{query}" if query else "")


def _plain(answer):
    content = answer.read()
    if answer.headers.get("Content-Encoding") == "gzip":
        content = gzip.decompress(content)
    return content.decode()
