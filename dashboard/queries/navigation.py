"""The counts beside the navigation's words: quiet totals, and what needs somebody.

In: a reader and the namespaces that count, or what a room has counted. Out: text and tone by word
of the navigation; a text is empty while there is nothing to say.
"""

from cluster.store.reader import DjangoStateReader
from cluster.store.tallies import job_count, node_tally, open_tally
from dashboard.wording import number


def navigation(
    reader: DjangoStateReader, namespaces: frozenset[str] | None
) -> dict[str, dict[str, str]]:
    """In three reads, whatever the size of the cluster."""
    nodes = node_tally(reader)
    texts = nav_texts(
        jobs=job_count(reader, namespaces),
        blocked=open_tally(reader, namespaces).get("blocked", 0),
        nodes=nodes["nodes"],
        draining=nodes["draining"],
    )
    tones = {"Evaluations": "blocked", "Drains": "draining"}
    return {
        word: {"text": text, "tone": tones.get(word, ""), "fact": nav_fact(word)}
        for word, text in texts.items()
    }


def nav_texts(*, jobs: int, blocked: int, nodes: int, draining: int) -> dict[str, str]:
    """What stands beside each word of the navigation that has a count."""
    return {
        "Jobs": number(jobs),
        "Evaluations": f"{number(blocked)} blocked" if blocked else "",
        "Nodes": number(nodes),
        "Drains": number(draining) if draining else "",
    }


def nav_fact(word: str) -> str:
    """The name under which a frame brings the count of a word."""
    return f"nav-{word.lower()}"
