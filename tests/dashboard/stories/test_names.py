"""What stories are called: launches by their parent, times in words people read."""

from dashboard.stories.names import cause_of, title_of
from scheduler.structs.story import Story, StoryKind

LAUNCH = Story(
    kind=StoryKind.LAUNCH, namespace="default", job_id="cron/periodic-1750000000",
    parent_job_id="cron", text="due at 1750000000",
)  # fmt: skip


def test_a_launch_has_its_parents_name_and_leads_to_what_was_launched():
    title = title_of(LAUNCH)
    assert title.plain == "Launch of cron"
    assert "periodic-1750000000" in title.url
    alone = Story(kind=StoryKind.DISPATCH, namespace="default", job_id="resize")
    assert title_of(alone).plain == "Dispatch of resize"


def test_when_a_launch_was_due_is_told_as_a_time():
    assert cause_of(LAUNCH) == "due at 15:06:40"
    assert cause_of(Story(text="due at noon")) == "due at noon"
