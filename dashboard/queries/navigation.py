"""The counts beside the navigation's words: quiet totals, and what needs somebody.

In: a reader and what may be counted, or what a feed has counted. Out: text and tone by word of the
navigation; a text is empty while there is nothing to say.
"""

from django.utils.translation import gettext, ngettext

from cluster.store.ports import RecordReader
from dashboard.rollouts import progress_of
from dashboard.wording import number
from scheduler.state.nouns import DEPLOYMENTS
from scheduler.structs.deployment import Deployment, DeploymentStatus

#: Stands beside the nodes, in a tone of its own.
LOST_NODES = "Nodes lost"


def navigation(
    reader: RecordReader, namespaces: frozenset[str] | None, *, sees_nodes: bool
) -> dict[str, dict[str, str]]:
    """In four reads. One brings the rollouts with canaries, which are few beside the jobs."""
    nodes = reader.node_tally() if sees_nodes else {"nodes": None, "draining": 0, "lost": 0}
    texts = nav_texts(
        jobs=reader.job_count(namespaces),
        blocked=reader.open_tally(namespaces).get("blocked", 0),
        to_promote=len(rollouts_to_promote(reader, namespaces)),
        nodes=nodes["nodes"],
        draining=nodes["draining"] or 0,
        lost=nodes["lost"] or 0,
    )
    tones = {
        "Evaluations": "blocked",
        "Deployments": "canary",
        "Drains": "draining",
        LOST_NODES: "lost",
    }
    return {
        word: {"text": text, "tone": tones.get(word, ""), "fact": nav_fact(word)}
        for word, text in texts.items()
    }


def rollouts_to_promote(
    reader: RecordReader, namespaces: frozenset[str] | None
) -> list[Deployment]:
    """Those whose healthy canaries wait for a person."""
    found = reader.list_by(DEPLOYMENTS, "canaries", (DeploymentStatus.RUNNING.value, True))
    return [
        each
        for each in found
        if (namespaces is None or each.namespace in namespaces) and waits_for_a_person(each)
    ]


def waits_for_a_person(deployment: Deployment) -> bool:
    """Whether healthy canaries of it are there that nobody but a person promotes."""
    is_running = deployment.status is DeploymentStatus.RUNNING
    return is_running and bool(progress_of(deployment).waiting)


def nav_texts(
    *, jobs: int, blocked: int, to_promote: int, nodes: int | None, draining: int, lost: int
) -> dict[str, str]:
    """What stands beside each word of the navigation that has a count; `nodes` None: not shown."""
    return {
        "Jobs": number(jobs),
        "Evaluations": gettext("{blocked} blocked").format(blocked=number(blocked))
        if blocked
        else "",
        "Deployments": ngettext("{count} waits", "{count} wait", to_promote).format(
            count=number(to_promote)
        )
        if to_promote
        else "",
        "Nodes": number(nodes) if nodes is not None else "",
        LOST_NODES: gettext("{lost} lost").format(lost=number(lost)) if lost else "",
        "Drains": number(draining) if draining else "",
    }


def nav_fact(word: str) -> str:
    """The name under which a frame brings the count of a word."""
    return f"nav-{word.lower().replace(' ', '-')}"
