"""What a rollout's page names and links: what changed, who promoted, phases."""

import pytest
from msgspec.structs import replace

from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.story_nouns import STORIES
from scheduler.structs.deployment import (
    Deployment,
    DeploymentStatus,
    GroupRollout,
    RolloutAct,
    RolloutVerb,
)
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.story import Story, StoryKind
from tests.builders import SECOND, SOME_MOMENT, make_allocation, make_evaluation, make_job

STORY = Story(
    id="a" * 8 + "-rollout", kind=StoryKind.ROLLOUT, namespace="default", job_id="web",
    job_version=1, actor="priya", create_time=SOME_MOMENT, create_index=5,
)  # fmt: skip


@pytest.fixture
def rollout(store):
    """Version 1 of a job: two canaries that kim promoted, of which one took two tries."""
    before = make_job(id="web", version=0, stable=True, create_index=5, modify_index=5)
    after = replace(before, version=1, priority=70, stable=False)
    group = GroupRollout(
        desired_total=2, desired_canaries=2, promoted=True, auto_revert=True,
        placed_canaries=(make_allocation(number=1).id, make_allocation(number=2).id),
    )  # fmt: skip
    deployment = Deployment(
        id="d" * 36, job_id="web", job_version=1, job_create_index=5, create_index=6,
        modify_index=30, status=DeploymentStatus.RUNNING, story_id=STORY.id,
        task_groups={after.task_groups[0].name: group},
        acts=(RolloutAct(verb=RolloutVerb.PROMOTED, by="kim", at=SOME_MOMENT, index=20),),
    )  # fmt: skip

    def work(change):
        change.put(STORIES, STORY)
        for version in (before, after):
            change.put_job(version)
        put_found(change, deployment)
        for number in (1, 2):
            put_found(
                change,
                make_evaluation(
                    number, job_id="web", story_id=STORY.id, status=EvalStatus.COMPLETE,
                    create_index=9 + number, modify_index=12 + number,
                    create_time=SOME_MOMENT + number * SECOND,
                ),
            )  # fmt: skip
            put_found(
                change,
                make_allocation(
                    number=number, job_id="web", name="web.web[0]", deployment_id=deployment.id,
                    task_group=after.task_groups[0].name, create_index=10 + number,
                    node_name="node-7", eval_id=make_evaluation(number).id,
                ),
            )  # fmt: skip

    store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)
    return deployment


def test_it_says_what_changed_who_promoted_and_where_it_goes_if_it_fails(rollout, browser):
    page = " ".join(browser.get(f"/stories/{STORY.id}/").text.split())
    assert "Priority 50 → 70</a>" in page
    assert "from=0&amp;to=1" in page
    assert "Promoted by kim at 15:06:40." in page
    assert "goes back to" in page
    assert f'href="/deployments/{rollout.id}/"' in page


def test_a_phase_names_its_evaluations_and_what_was_tried_again(rollout, browser):
    answer = browser.get(f"/stories/{STORY.id}/")
    phase = answer.context["lanes"][0]
    assert [each.title for each in phase.evaluations] == [
        make_evaluation(number).id for number in (1, 2)
    ]
    ((again),) = phase.again
    assert (again.name, again.tries, again.node.word) == ("web.web[0]", 2, "node-7")
    assert f'href="/evaluations/{make_evaluation(1).id}/"' in answer.text
    assert f'id="{phase.anchor}"' in answer.text
    assert {lane.href for lane in answer.context["graph"].lanes} == {
        f"#{each.anchor}" for each in answer.context["lanes"]
    }


def test_the_table_of_a_lane_holds_its_evaluations_alone(rollout, browser):
    answer = browser.get(f"/stories/{STORY.id}/")
    (first, *_) = answer.context["lanes"]
    table = browser.get(f"/stories/{STORY.id}/{first.table_url}")
    assert {row["evaluation"].id for row in table.context["rows"]} == {
        each.title for each in first.evaluations
    }
    assert f"{first.row.title}:" in table.text
    nothing = browser.get(f"/stories/{STORY.id}/?view=table&lane=nonsense")
    assert len(nothing.context["rows"]) == 2


def test_the_note_says_what_changed_who_did_what_and_where_to_look(rollout, browser):
    note = browser.get(f"/stories/{STORY.id}.md").text
    assert "| Changed | Priority 50 → 70 |" in note
    assert "- Promoted by kim at 15:06:40." in note
    assert "web.web\\[0\\] took 2 tries." in note
    assert f"/deployments/{rollout.id}/>" in note
    assert "/jobs/default/web/>" in note
    assert "What changed: <" in note
