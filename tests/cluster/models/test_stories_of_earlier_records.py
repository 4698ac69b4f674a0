"""Records of earlier versions: each evaluation and rollout gets its story, in batches, once."""

import importlib
from collections import Counter

import pytest
from django.apps import apps
from django.db import connections

from cluster.store.writer import DjangoStateStore
from scheduler.state.nouns import EVALUATION_STUBS
from scheduler.state.story_nouns import STORIES, STORY_NODES
from scheduler.structs.story import Story, StoryKind, version_story_id
from tests.cluster.models.expected_columns import differences
from tests.earlier_records import VERSIONS, unpack
from tests.record_databases import database, migrate, sqlite_settings

migration = importlib.import_module("cluster.migrations.0028_stories_of_earlier_records")

#: Tables that it fills or changes.
TOLD = {"EvaluationRow", "EvaluationStubRow", "DeploymentRow", "StoryRow", "StoryNodeRow"}


def found_in(alias):
    """Everything the migration is about."""

    def work(reader):
        return (
            [*reader.evaluations(), *reader.list_all(EVALUATION_STUBS)],
            list(reader.deployments()),
            {story.id: story for story in reader.list_all(STORIES)},
            list(reader.list_all(STORY_NODES)),
        )

    return DjangoStateStore(alias).read(work)


def brought_up(version, place, monkeypatch, at_once):
    monkeypatch.setattr(migration, "ROWS_AT_ONCE", at_once)
    config = sqlite_settings(place)
    unpack(version, place)
    migrate(config)
    return config


@pytest.mark.parametrize("version", VERSIONS)
def test_each_evaluation_gets_the_story_of_its_cause(
    version, tmp_path, django_db_blocker, monkeypatch
):
    with django_db_blocker.unblock():
        config = brought_up(version, tmp_path / "old", monkeypatch, at_once=7)
        with database(config) as alias:
            evaluations, deployments, stories, links = found_in(alias)
            wrong = [each for each in differences(alias)[0] if each[0] in TOLD]
            assert wrong == []
            by_id = {row.id: row for row in evaluations}
            assert len(by_id) > 10
            assert {row.story_id for row in (*evaluations, *deployments)} <= stories.keys()
            for row in evaluations:
                parent = by_id.get(row.previous_eval)
                assert parent is None or parent.story_id == row.story_id
                assert stories[row.story_id].create_index <= row.create_index
            for rollout in deployments:
                own = version_story_id(
                    rollout.job_key, rollout.job_create_index, rollout.job_version
                )
                assert rollout.story_id == own
            for story in stories.values():
                of_story = {link.node_id for link in links if link.story_id == story.id}
                assert story.node_count == len(of_story)
                assert set(story.node_ids) <= of_story
            newest = Counter(link.node_id for link in links if link.current)
            assert set(newest.values()) <= {1}
            # As a person would count them: not one for each evaluation.
            kinds = Counter(story.kind for story in stories.values())
            assert {StoryKind.ROLLOUT} < set(kinds)
            assert len(stories) < len(by_id)
            # Once more changes nothing.
            migration.tell(apps, connections[alias].schema_editor())
            assert found_in(alias) == (evaluations, deployments, stories, links)


def test_batches_of_any_size_tell_the_same(tmp_path, django_db_blocker, monkeypatch):
    told = []
    with django_db_blocker.unblock():
        for at_once in (3, 1_000):
            place = tmp_path / str(at_once)
            with database(brought_up(VERSIONS[-1], place, monkeypatch, at_once)) as alias:
                told.append(found_in(alias))
    assert told[0] == told[1]


def test_ids_are_made_as_the_record_makes_them():
    key = ("default", "web")
    assert migration.story_id("version", *key, 3, 1) == version_story_id(key, 3, 1)
    assert set(migration.KINDS.values()) <= set(StoryKind)
    assert Story(id="x").node_count == 0
