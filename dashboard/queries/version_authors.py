"""Who registered the versions of a job: what the stories that they began say.

In: a reader, versions. Out: a name for each, or why there is none; one statement for all of them.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeVar

from django.utils.translation import gettext

from cluster.store.ports import RecordReader
from scheduler.structs.identity import JobKey
from scheduler.structs.job import Job
from scheduler.structs.story import Story, version_story_id

_Name = TypeVar("_Name")


class Author(NamedTuple):
    """Who registered one version, in words."""

    told: str
    #: Whether `told` is somebody's name.
    is_person: bool = False


def authors_of(reader: RecordReader, versions: Iterable[Job]) -> dict[int, Author]:
    """By the numbers of the versions of one job."""
    return _authors(reader, {_story_id(version): version.version for version in versions})


def authors_of_jobs(reader: RecordReader, jobs: Iterable[Job]) -> dict[JobKey, Author]:
    """Who registered, launched or dispatched the current version of each job, by its name."""
    return _authors(reader, {_story_id(job): job.key for job in jobs})


def _authors(reader: RecordReader, names: Mapping[str, _Name]) -> dict[_Name, Author]:
    stories = {story.id: story for story in reader.stories_among(names)}
    return {name: _author(stories.get(story_id)) for story_id, name in names.items()}


def _story_id(version: Job) -> str:
    return version_story_id(version.key, version.create_index, version.version)


def _author(story: Story | None) -> Author:
    if story is None:
        return Author(gettext("not known"))
    if story.actor:
        return Author(story.actor, is_person=True)
    # A rollout that failed brought an old version back.
    return Author(gettext("by itself") if story.parent_id else gettext("no person"))
