"""The counts beside the navigation's words: quiet totals, and what needs somebody.

In: a reader and the namespaces that count. Out: text and tone by word of the navigation.
"""

from cluster.store.reader import DjangoStateReader
from cluster.store.tallies import job_count, node_tally, open_tally
from dashboard.wording import number


def navigation(
    reader: DjangoStateReader, namespaces: frozenset[str] | None
) -> dict[str, dict[str, str]]:
    """In three reads, whatever the size of the cluster."""
    blocked = open_tally(reader, namespaces).get("blocked", 0)
    nodes = node_tally(reader)
    counts = {
        "Jobs": {"text": number(job_count(reader, namespaces))},
        "Nodes": {"text": number(nodes["nodes"])},
    }
    if blocked:
        counts["Evaluations"] = {"text": f"{number(blocked)} blocked", "tone": "blocked"}
    if nodes["draining"]:
        counts["Drains"] = {"text": number(nodes["draining"])}
    return counts
