"""A small OpenID provider in a process of its own: authorization code flow, RS256, PKCE.

`python -m tests.oidc_provider [port]` prints its address and serves until its input ends. Its
people sign in by a press of a link, or at once where the address names one (`&person=kim`).
What it says and does can be changed by `POST /control`: `people`, `spoil` (claims put into id
tokens), `foreign_key`, `other_subject`, `secret_in_form`.
"""

import base64
import hashlib
import http.server
import json
import secrets
import sys
import threading
import time
from html import escape
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT, SECRET = "bivouac", "a secret/with+signs"
PEOPLE = {
    "kim": {"preferred_username": "kim", "email": "kim@example.org", "groups": ["submitter"]},
    "sam": {"preferred_username": "sam", "email": "sam@example.org", "groups": []},
}


def _segment(octets):
    return base64.urlsafe_b64encode(octets).rstrip(b"=").decode()


def _number(value):
    return _segment(value.to_bytes((value.bit_length() + 7) // 8, "big"))


class Provider:
    """What it knows: keys, people, codes that were given and not used yet."""

    def __init__(self):
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.foreign = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.address = ""
        self.codes = {}
        self.bearers = {}
        self.told = {"people": PEOPLE}

    def description(self):
        ways = ["client_secret_post"] if self.told.get("secret_in_form") else None
        said = {
            "issuer": self.address,
            "authorization_endpoint": f"{self.address}/authorize",
            "token_endpoint": f"{self.address}/token",
            "userinfo_endpoint": f"{self.address}/userinfo",
            "end_session_endpoint": f"{self.address}/leave",
            "jwks_uri": f"{self.address}/keys",
            "id_token_signing_alg_values_supported": ["RS256"],
        }
        return said | ({"token_endpoint_auth_methods_supported": ways} if ways else {})

    def key_set(self):
        numbers = self.key.public_key().public_numbers()
        key = {"kty": "RSA", "kid": "one", "use": "sig", "alg": "RS256"}
        return {"keys": [key | {"n": _number(numbers.n), "e": _number(numbers.e)}]}

    def code_for(self, asked, person):
        code = secrets.token_urlsafe(16)
        self.codes[code] = (asked, person)
        return code

    def tokens(self, form, header):
        """What a code is worth, or the name of what is wrong."""
        asked, person = self.codes.pop(form.get("code", ""), (None, ""))
        if not self._is_client(form, header):
            return 401, {"error": "invalid_client"}
        if asked is None or asked["redirect_uri"] != form.get("redirect_uri"):
            return 400, {"error": "invalid_grant"}
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        if "code_challenge" in asked and asked["code_challenge"] != _segment(digest):
            return 400, {"error": "invalid_grant"}
        now = int(time.time())  # noqa: TID251 - its own clock
        claims = {
            "iss": self.address, "sub": f"id-of-{person}", "aud": CLIENT, "iat": now,
            "exp": now + 300, "nonce": asked.get("nonce"), **self.told.get("spoil", {}),
        }  # fmt: skip
        key = self.foreign if self.told.get("foreign_key") else self.key
        bearer = secrets.token_urlsafe(16)
        self.bearers[bearer] = person
        signed = jwt.encode(claims, key, algorithm="RS256", headers={"kid": "one"})
        return 200, {"access_token": bearer, "token_type": "Bearer", "id_token": signed}

    def _is_client(self, form, header):
        if self.told.get("secret_in_form"):
            return (form.get("client_id"), form.get("client_secret")) == (CLIENT, SECRET)
        pair = urlencode({CLIENT: SECRET}).replace("=", ":", 1)
        return header == f"Basic {base64.b64encode(pair.encode()).decode()}"

    def user_info(self, header):
        person = self.bearers.get(header.removeprefix("Bearer "))
        if person is None:
            return 401, {}
        subject = "somebody-else" if self.told.get("other_subject") else f"id-of-{person}"
        return 200, {"sub": subject, **self.told["people"][person]}


class Handler(http.server.BaseHTTPRequestHandler):
    """The addresses of the provider."""

    provider: Provider

    def do_GET(self):
        url = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        header = self.headers.get("Authorization", "")
        match url.path:
            case "/.well-known/openid-configuration":
                self._json(200, self.provider.description())
            case "/keys":
                self._json(200, self.provider.key_set())
            case "/userinfo":
                self._json(*self.provider.user_info(header))
            case "/authorize":
                self._authorize(query)
            case "/leave":
                back = query.get("post_logout_redirect_uri", "")
                self._page(f'<p>Signed out here.</p><a href="{escape(back)}">Back</a>')
            case _:
                self._json(404, {})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        if self.path == "/control":
            self.provider.told = {"people": PEOPLE} | json.loads(body)
            self._json(200, {})
            return
        form = {name: values[0] for name, values in parse_qs(body).items()}
        self._json(*self.provider.tokens(form, self.headers.get("Authorization", "")))

    def _authorize(self, query):
        if query.get("client_id") != CLIENT or query.get("response_type") != "code":
            self._json(400, {"error": "invalid_request"})
            return
        person = query.pop("person", "")
        if not person:
            links = [
                f'<p><a href="{escape(self._address_of(query, name))}">{name}</a>'
                for name in (*self.provider.told["people"], "nobody")
            ]
            self._page(f"<h1>Who are you?</h1>{''.join(links)}")
            return
        known = person in self.provider.told["people"]
        back = (
            {"code": self.provider.code_for(query, person)}
            if known
            else {"error": "access_denied"}
        )
        self.send_response(302)
        target = urlencode({**back, "state": query.get("state", "")})
        self.send_header("Location", f"{query['redirect_uri']}?{target}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _address_of(self, query, person):
        return f"/authorize?{urlencode({**query, 'person': person})}"

    def _json(self, status, value):
        self._send(status, "application/json", json.dumps(value).encode())

    def _page(self, html):
        self._send(200, "text/html; charset=utf-8", html.encode())

    def _send(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Tests are quiet."""


def main():
    """Serve until whoever started this closes its end of the pipe."""
    provider = Handler.provider = Provider()
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    provider.address = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdout.write(f"{provider.address}\n")
    sys.stdout.flush()
    sys.stdin.read()
    server.shutdown()


if __name__ == "__main__":
    main()
