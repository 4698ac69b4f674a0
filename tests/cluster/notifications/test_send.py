"""Messages to a real server: taken, refused, slow, redirected; and addresses that get none."""

import hashlib
import hmac
import json

import pytest

from cluster.notifications import send as module
from cluster.notifications.send import Message, NotSent, address_problem, send, shown_host
from tests.builders import SOME_MOMENT
from tests.hook_server import hook_server

MESSAGE = Message(id="m1", lines=("one", "two"), secret="shh")


@pytest.fixture
def hooks():
    with hook_server() as server:
        yield server


def send_to(url, message=MESSAGE, *, allows_private=True):
    send(url, message, now=SOME_MOMENT, allows_private=allows_private)


def test_a_message_is_text_with_an_id_and_a_signature(hooks):
    send_to(hooks.url)
    (came,) = hooks.came
    assert json.loads(came.body) == {"text": "one\ntwo"}
    assert (came.path, came.headers["Idempotency-Key"]) == ("/hook/secret", "m1")
    assert came.headers["Host"] == hooks.url.split("/")[2]
    seconds = SOME_MOMENT // 10**9
    expected = hmac.new(b"shh", f"{seconds}.".encode() + came.body, hashlib.sha256).hexdigest()
    assert came.headers["X-Bivouac-Signature"] == f"t={seconds},v1={expected}"


def test_without_a_secret_nothing_is_signed(hooks):
    send_to(hooks.url, Message(id="m2", lines=("x",)))
    assert "X-Bivouac-Signature" not in hooks.came[0].headers


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (500, "it answers 500"),
        (404, "it answers 404"),
        (302, "it answers 302: redirects are not followed"),
    ],
)
def test_any_other_answer_is_none(hooks, status, words):
    hooks.status = status
    with pytest.raises(NotSent, match=words):
        send_to(hooks.url)
    assert len(hooks.came) == 1


def test_a_slow_server_is_not_waited_for(hooks, monkeypatch):
    monkeypatch.setattr(module, "TIMEOUT_S", 0.1)
    hooks.pause_s = 5.0
    with pytest.raises(NotSent, match="Timeout"):
        send_to(hooks.url)


def test_nobody_is_there(unused_tcp_port):
    with pytest.raises(NotSent, match="ConnectError"):
        send_to(f"http://127.0.0.1:{unused_tcp_port}/")


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "[::1]", "10.0.0.7", "169.254.169.254", "192.168.1.1", "0.0.0.0",  # noqa: S104
     "[::ffff:127.0.0.1]", "2130706433"],
)  # fmt: skip
def test_addresses_inside_the_network_get_nothing_unless_a_setting_says_so(hooks, host):
    port = hooks.url.split(":")[2].split("/")[0]
    with pytest.raises(NotSent, match="inside the network"):
        send_to(f"http://{host}:{port}/", allows_private=False)
    assert hooks.came == []


def test_a_name_that_nobody_knows():
    with pytest.raises(NotSent, match="no address is known for"):
        send_to("http://nobody.invalid/")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("", "URL must have"),
        ("http://x/" + "a" * 2048, "URL must have"),
        ("http://x/\n", "URL must have"),
        ("ftp://x/", "URL must begin with http"),
        ("http:///x", "URL must begin with http"),
        ("http://x:0/", "URL must begin with http"),
        ("http://x:99999/", "URL is not an address"),
        ("http://me:secret@x/", "URL must not hold a name or a password"),
    ],
)
def test_what_is_no_address(url, words):
    assert address_problem(url).startswith(words)
    with pytest.raises(NotSent):
        send_to(url)


def test_of_an_address_its_host_is_shown():
    assert shown_host("https://chat.example:8443/T0/secret?x=y") == "https://chat.example:8443"
