"""Crash loops as the record tells them: the lineage of one name of one version."""

from dashboard.stories.crashes import crash_facts
from dashboard.stories.gathered import gather
from scheduler.state.events import WriteKind
from scheduler.state.found_rows import put_found
from scheduler.state.story_nouns import STORIES
from scheduler.structs.allocation import ClientStatus, TaskEvent, TaskState
from scheduler.structs.evaluation import EvalStatus
from scheduler.structs.story import Story, StoryKind
from tests.builders import SECOND, SOME_MOMENT, make_allocation, make_evaluation

LOOP = Story(
    id="loop", kind=StoryKind.CRASH_LOOP, namespace="default", job_id="web",
    alloc_name="web.web[0]", create_time=SOME_MOMENT, create_index=5,
)  # fmt: skip
KILLED = TaskEvent(type="Terminated", time=SOME_MOMENT, details={"exit_code": "137"})


def failed(number, **fields):
    return make_allocation(
        number=number, job_id="web", name="web.web[0]", job_create_index=0,
        client_status=ClientStatus.FAILED, create_index=number, **fields,
        task_states={"web": TaskState(state="dead", failed=True, events=(KILLED,))},
    )  # fmt: skip


def test_how_often_it_failed_how_it_ended_and_when_it_is_tried_again(sqlite_store):
    def work(change):
        change.put(STORIES, LOOP)
        for row in (failed(1), failed(2), failed(3, job_version=9)):
            put_found(change, row)
        put_found(
            change,
            make_evaluation(
                1, job_id="web", story_id=LOOP.id, status=EvalStatus.PENDING,
                wait_until=SOME_MOMENT + 90 * SECOND,
            ),
        )  # fmt: skip

    sqlite_store.write(WriteKind.PLAN_RESULT, work, now=SOME_MOMENT)
    facts = sqlite_store.read(lambda r: crash_facts(r, gather(r, LOOP, SOME_MOMENT)))
    assert (facts.failed, facts.last, facts.runs) == (2, "exit code 137", False)
    assert facts.next_at == SOME_MOMENT + 90 * SECOND
