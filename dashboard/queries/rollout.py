"""The rollout of a job's version: its newest deployment, as the job's page tells it.

In: a reader and the job. Out: the RolloutProgress that `_job_rollout.html` shows, what the job's
sentence says of it, and what its buttons would do, on whatever page they stand.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from django.utils.translation import gettext

from cluster.page_addresses import job_url
from cluster.store.ports import RecordReader
from dashboard.queries.listings import newest_of_job
from dashboard.rollout_words import fail_told, pause_told, promote_told
from dashboard.rollouts import RolloutProgress, progress_of
from dashboard.versions import going_back
from scheduler.state import nouns
from scheduler.structs.deployment import Deployment
from scheduler.structs.job import Job


class WayBack(msgspec.Struct, frozen=True, kw_only=True):
    """A version that one may go back to."""

    job: Job
    word: str
    consequence: str


def rollout_of(reader: RecordReader, job: Job) -> RolloutProgress | None:
    """Of the newest deployment, unless a later version has gone past it without one."""
    newest = reader.page(nouns.DEPLOYMENTS, newest_of_job(job.key, 1))
    if not newest or (newest[0].job_version != job.version and not newest[0].is_active):
        return None
    return progress_of(newest[0])


def acts_of(reader: RecordReader, rollout: RolloutProgress | None) -> dict[str, str]:
    """What the buttons of a rollout would do; nothing for one that has ended."""
    if rollout is None or not rollout.deployment.is_active:
        return {}
    return told_acts(rollout, versions_of(reader, rollout.deployment))


def told_acts(rollout: RolloutProgress, versions: Sequence[Job]) -> dict[str, str]:
    """The same from the versions that are kept of its job, newest first."""
    version = rollout.deployment.job_version
    job = next((each for each in versions if each.version == version), None)
    return {
        "promote_told": promote_told(rollout, job),
        "pause_told": pause_told(rollout),
        "fail_told": fail_told(rollout, versions) if versions else gettext("Its job is gone."),
    }


def versions_of(reader: RecordReader, deployment: Deployment) -> list[Job]:
    """Those kept of the deployment's own incarnation of its job, newest first."""
    return [
        each
        for each in reader.job_versions(deployment.job_key)
        if deployment.job_create_index in (0, each.create_index)
    ]


def offered_acts(deployment: Deployment, versions: Sequence[Job]) -> dict[str, Any]:
    """Everything that the buttons of a rollout need, wherever they stand."""
    if not deployment.is_active:
        return {"namespace": deployment.namespace}
    progress = progress_of(deployment)
    return {
        "namespace": deployment.namespace,
        "rollout": progress,
        **told_acts(progress, versions),
        **ways_back(deployment, versions),
    }


def versions_url(deployment: Deployment) -> str:
    """Where the versions of its job are compared."""
    return job_url(deployment.job_key, tab="versions")


def comparison_url(deployment: Deployment, before: int) -> str:
    """Where its version is compared with another one of its job."""
    url = versions_url(deployment)
    sign = "&" if "?" in url else "?"
    return f"{url}{sign}from={before}&to={deployment.job_version}"


def ways_back(deployment: Deployment, versions: Sequence[Job]) -> dict[str, Any]:
    """The versions that one may go back to, stable ones first."""
    current = versions[0] if versions else None
    ways = [
        WayBack(
            job=each,
            word="stable" if each.stable else gettext("not stable"),
            consequence=going_back(current, each),
        )
        for each in versions[1:]
        if current is not None and not each.stop
    ]
    return {
        "current": current,
        "versions_url": versions_url(deployment),
        "next_version": current.version + 1 if current is not None else 0,
        "ways_back": sorted(ways, key=lambda way: (not way.job.stable, -way.job.version)),
    }
