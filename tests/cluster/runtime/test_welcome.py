"""What `up` prints when it serves: secrets to a terminal only, else to files of its owner."""

import stat
from dataclasses import replace

import pytest

from cluster.runtime.health_table import HealthTable
from cluster.runtime.welcome import Welcome

LINK, TOKEN, JOIN = "http://localhost/login/once/secret-link", "secret-token", "secret-join"


@pytest.fixture
def welcome(tmp_path):
    return Welcome("http://localhost", LINK, TOKEN, tmp_path / "env", JOIN)


def printed(welcome, *, is_terminal):
    """Everything that is written from the first answer of the web server on."""
    lines = []
    table = HealthTable([], welcome, lines.append)
    table.is_terminal = is_terminal
    table._welcome()
    return "\n".join(lines)


def test_a_terminal_shows_the_link_and_no_file_holds_it(welcome):
    welcome.link_file.write_text("of an earlier start")
    text = printed(welcome, is_terminal=True)
    assert LINK in text
    assert TOKEN in text
    assert not welcome.link_file.exists()


def test_an_agent_is_spoken_of_where_one_is_started(welcome):
    told = "The local agent may run commands of this host"
    assert told in printed(welcome, is_terminal=True)
    assert told not in printed(replace(welcome, has_agent=False), is_terminal=True)


def test_a_log_file_gets_no_secret_but_where_they_are(welcome):
    text = printed(welcome, is_terminal=False)
    assert [secret for secret in (LINK, TOKEN, JOIN) if secret in text] == []
    assert str(welcome.link_file) in text
    assert welcome.link_file.read_text() == f"{LINK}\n"
    assert stat.S_IMODE(welcome.link_file.stat().st_mode) == 0o600
