"""Where rollouts come from: who or what started each, and which version it takes the place of.

In: a reader and deployments. Out: an Origin for each, in one statement however many they are.
"""

from collections.abc import Sequence

import msgspec
from django.utils.translation import gettext

from cluster.store.ports import RecordReader
from dashboard.queries.rollout import comparison_url
from scheduler.structs.deployment import Deployment
from scheduler.structs.story import Story, version_story_id


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """What began one rollout, in words."""

    #: Who started it, or what did.
    told: str
    #: Whether `told` is somebody's name.
    is_person: bool = False
    #: The number of the version before; None: there is none.
    before: int | None = None
    #: Where the two are compared; empty without one before.
    compare_url: str = ""
    #: None where it is not known any more.
    story: Story | None = None


def origins_of(reader: RecordReader, deployments: Sequence[Deployment]) -> dict[str, Origin]:
    """By the deployments' ids."""
    wanted = {each.story_id for each in deployments if each.story_id}
    stories = {story.id: story for story in reader.stories_among(wanted)} if wanted else {}
    return {each.id: _origin(each, stories.get(each.story_id)) for each in deployments}


def _origin(deployment: Deployment, story: Story | None) -> Origin:
    version = deployment.job_version
    before = version - 1 if version > 0 else None
    told, is_person = _started(deployment, story)
    return Origin(
        told=told,
        is_person=is_person,
        before=before,
        compare_url="" if before is None else comparison_url(deployment, before),
        story=story,
    )


def _started(deployment: Deployment, story: Story | None) -> tuple[str, bool]:
    if story is None:
        return gettext("not known"), False
    own = version_story_id(deployment.job_key, deployment.job_create_index, deployment.job_version)
    is_of_job = story.job_key == deployment.job_key
    if story.id != own and is_of_job and story.job_version < deployment.job_version:
        # An automatic revert goes on in the story of the rollout that failed.
        return gettext("by itself: v{version} failed").format(version=story.job_version), False
    return (story.actor, True) if story.actor else (gettext("no person"), False)
