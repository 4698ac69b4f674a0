"""The facts of a rollout's story: what it changed, who did what to it, what if it fails.

In: a reader, a deployment as it is or was. Out: the part of the page's context that
`_story_facts.html` shows, in one read, of the job's versions.
"""

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext

from cluster.jobspec.diff import diff_jobs
from cluster.store.ports import RecordReader
from dashboard.queries.rollout import comparison_url, offered_acts, versions_of
from dashboard.rollout_words import goes_back_to
from dashboard.stories.acts import note_of
from dashboard.stories.whole import Whole
from dashboard.version_changes import changes_line
from scheduler.structs.deployment import Deployment, RolloutVerb
from scheduler.structs.job import Job


def rollout_context(reader: RecordReader, whole: Whole) -> dict[str, Any]:
    """What is told of a rollout beside its phases, and what its buttons would do."""
    if whole.rollout is None:
        return {}
    deployment = whole.rollout.deployment
    versions = versions_of(reader, deployment)
    return {
        **changed(deployment, versions),
        "acts": [note_of(act) for act in deployment.acts],
        "canaries": sum(group.desired_canaries for group in deployment.task_groups.values()),
        "promoted_told": _promoted(deployment),
        "if_it_fails": _if_it_fails(deployment, versions),
        # As the page of the rollout has them; none of the past.
        **(offered_acts(deployment, versions) if whole.gathered.past is None else {}),
    }


def changed(deployment: Deployment, versions: Sequence[Job]) -> dict[str, Any]:
    """What its version changed, in a line, and where the two are compared."""
    job = next((each for each in versions if each.version == deployment.job_version), None)
    before = next((each for each in versions if each.version < deployment.job_version), None)
    if job is None or before is None:
        return {"is_first_version": deployment.job_version == 0}
    return {
        "changed": changes_line(diff_jobs(before, job)),
        "changed_since": before.version,
        "compare_url": comparison_url(deployment, before.version),
    }


def _promoted(deployment: Deployment) -> str:
    promoted = [act for act in deployment.acts if act.verb is RolloutVerb.PROMOTED]
    if promoted:
        return note_of(promoted[0])
    groups = [group for group in deployment.task_groups.values() if group.desired_canaries]
    if groups and all(group.promoted for group in groups):
        return gettext("They were promoted.")
    if any(group.auto_promote for group in groups):
        return gettext("They are promoted by themselves once all are healthy.")
    return gettext("A person promotes them.") if deployment.is_active else gettext("Not promoted.")


def _if_it_fails(deployment: Deployment, versions: Sequence[Job]) -> dict[str, str]:
    """What then becomes of it: told while it may still fail."""
    if not deployment.is_active:
        return {}
    if not any(group.auto_revert for group in deployment.task_groups.values()):
        return {"told": gettext("what runs stays as it is")}
    # Of the past as well: what came later cannot be gone back to.
    earlier = [each for each in versions if each.version <= deployment.job_version]
    stable = goes_back_to(earlier, deployment.job_version)
    if stable is None:
        return {"told": gettext("what runs stays as it is: no stable version is kept")}
    return {
        "told": gettext("goes back to"),
        "version": f"v{stable.version}",
        "url": comparison_url(deployment, stable.version),
    }
