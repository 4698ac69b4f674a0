"""Acts that have a button "Rehearse": what each asks to rehearse, and the act itself beside it.

In: what a button names; a scenario and whoever looks at what it found. Out: a change in the form
that programs send; the form that does in earnest what was rehearsed.
"""

import base64
from typing import Any
from urllib.parse import quote

import msgspec
from django.urls import reverse
from django.utils.translation import gettext

from cluster.operations.job_dispatch import Dispatch
from cluster.page_addresses import job_url
from cluster.rehearsal.scenario import (
    DispatchJob,
    MarkNodes,
    RevertJob,
    ScaleJob,
    Scenario,
    StopJob,
)
from dashboard.meta_fields import meta_name
from dashboard.rights import ACTIONS, WRITE_NODES
from scheduler.access.access import Access
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job
from scheduler.structs.node import NodeEligibility

Change = dict[str, Any]


class OfferedAct(msgspec.Struct, frozen=True, kw_only=True):
    """A form that does what was rehearsed, or rehearses it again."""

    #: What its button says.
    verb: str
    url: str
    #: Names and values.
    fields: tuple[tuple[str, str], ...] = ()
    #: The field by which the same form asks for a rehearsal.
    rehearse: tuple[str, str] = ("rehearse", "1")
    #: Where the act came from.
    back: str
    back_word: str
    #: Something ends by it.
    ends: bool = True


def stop_change(key: JobKey, *, purge: bool = False) -> Change:
    """A job is stopped."""
    return {"Stop": {**_job(key), **({"Purge": True} if purge else {})}}


def scale_change(key: JobKey, group: str, count: int) -> Change:
    """A group gets another count."""
    return {"Scale": {**_job(key), "Group": group, "Count": count}}


def dispatch_change(key: JobKey, asked: Dispatch) -> Change:
    """A child of a parameterized job is made."""
    given: Change = {
        "Payload": base64.b64encode(asked.payload).decode("ascii"),
        "Meta": dict(asked.meta),
        "IdPrefixTemplate": asked.id_prefix,
        "Priority": asked.priority,
    }
    return {"Dispatch": {**_job(key), **{name: value for name, value in given.items() if value}}}


def revert_change(key: JobKey, version: int, prior: int, *, keeps_counts: bool) -> Change:
    """A version is registered again, while another one is the current one."""
    change = {**_job(key), "JobVersion": version, "EnforcePriorVersion": prior}
    return {"Revert": {**change, **({"KeepCounts": True} if keeps_counts else {})}}


def run_change(job: Job) -> Change:
    """A job is registered."""
    return {"Job": msgspec.json.decode(msgspec.json.encode(job))}


def eligibility_change(node_ids: list[str], eligibility: str) -> Change:
    """Nodes are opened or closed."""
    return {"Eligibility": {"NodeIDs": node_ids, "Eligibility": eligibility}}


def purge_change(node_ids: list[str]) -> Change:
    """Nodes are forgotten."""
    return {"Purge": {"NodeIDs": node_ids}}


def act_of(scenario: Scenario, access: Access, rehearsal_id: str) -> OfferedAct | None:
    """What does in earnest what was rehearsed alone; None for what no button does or may do."""
    if len(scenario.changes) != 1:
        return None
    match scenario.changes[0]:
        case DispatchJob(key=key, asked=asked):
            may = access.allows(key.namespace, *ACTIONS["dispatch"])
            return _dispatch(key, asked, rehearsal_id) if may else None
        case RevertJob(key=key, prior=int()) as revert:
            may = access.allows(key.namespace, *ACTIONS["revert"])
            return _revert(revert) if may else None
        case StopJob(key=key, purge=purge):
            word = "purge" if purge else "stop"
            return _stop(key, word) if access.allows(key.namespace, *ACTIONS[word]) else None
        case ScaleJob(key=key, group=group, count=count) if group:
            may = access.allows(key.namespace, *ACTIONS["scale"])
            return _scale(key, group, count) if may else None
        case MarkNodes() as change if len(change.nodes.node_ids) == 1:
            return _of_node(change) if WRITE_NODES.holds(access) else None
    return None


def _stop(key: JobKey, word: str) -> OfferedAct:
    return OfferedAct(
        verb=gettext("{capitalize} job").format(capitalize=word.capitalize()),
        url=reverse(f"job-{word}"),
        fields=_fields_of(key),
        back=job_url(key),
        back_word=key.job_id,
    )


def _scale(key: JobKey, group: str, count: int) -> OfferedAct:
    return OfferedAct(
        verb=gettext("Scale {group} to {count}").format(group=group, count=count),
        url=reverse("job-scale"),
        fields=(
            *_fields_of(key),
            ("group", group),
            (f"count.{quote(group, safe='')}", str(count)),
        ),
        rehearse=("rehearse", group),
        ends=False,
        back=job_url(key),
        back_word=key.job_id,
    )


def _dispatch(key: JobKey, asked: Dispatch, rehearsal_id: str) -> OfferedAct | None:
    """None where a form of texts cannot carry the payload as it is."""
    try:
        payload = asked.payload.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if {"\r", "\0"} & set(payload):
        return None
    return OfferedAct(
        verb=gettext("Dispatch {job}").format(job=key.job_id),
        url=reverse("job-dispatch"),
        fields=(
            *_fields_of(key),
            # What was rehearsed once is dispatched once, however often it is pressed.
            ("token", rehearsal_id),
            ("prefix", asked.id_prefix),
            ("priority", str(asked.priority) if asked.priority else ""),
            ("payload", payload),
            *((meta_name(name), value) for name, value in asked.meta.items()),
        ),
        ends=False,
        back=job_url(key),
        back_word=key.job_id,
    )


def _revert(change: RevertJob) -> OfferedAct:
    key = change.key
    return OfferedAct(
        verb=gettext("Go back to v{version}").format(version=change.version),
        url=reverse("job-revert"),
        fields=(
            *_fields_of(key),
            ("version", str(change.version)),
            ("prior", str(change.prior)),
            *([("keep", "yes")] if change.keeps_counts else []),
        ),
        back=job_url(key, tab="versions"),
        back_word=key.job_id,
    )


def _of_node(change: MarkNodes) -> OfferedAct:
    ids = change.nodes.node_ids
    return OfferedAct(
        verb=gettext("Set {eligibility}").format(eligibility=change.eligibility.value),
        url=reverse("node-eligibility", args=ids),
        fields=(("eligibility", change.eligibility.value),),
        ends=change.eligibility is NodeEligibility.INELIGIBLE,
        back=reverse("node", args=ids),
        back_word=gettext("the node"),
    )


def _fields_of(key: JobKey) -> tuple[tuple[str, str], ...]:
    """Of a form that is about one job."""
    return ("namespace", key.namespace), ("job", key.job_id)


def _job(key: JobKey) -> dict[str, str]:
    return {"JobID": key.job_id, "Namespace": key.namespace}
