"""`docs/agent.md` tells every key of an agent's configuration file."""

from cluster.agent.config_keys import KEYS
from tests.agent_document import DOCUMENT, with_tables


def test_the_tables_are_those_of_the_keys():
    text = DOCUMENT.read_text()
    assert with_tables(text) == text, "`python -m tests.agent_document` writes them anew"
    assert [key.path for key in KEYS if f"| `{key.path}` |" not in text] == []
