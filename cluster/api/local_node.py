"""The node of the agent that `up` started beside this server, if it did.

In: the agent's directory, from settings. Out: the id that the agent gave itself when it first ran.
"""

from pathlib import Path

from django.conf import settings


def local_node_id() -> str:
    """Empty on a pure server, and until the agent has started once."""
    directory = settings.BIVOUAC_LOCAL_AGENT_DIR
    if not directory:
        return ""
    try:
        return (Path(directory) / "state" / "client-id").read_text("utf-8").strip()
    except OSError:
        return ""
