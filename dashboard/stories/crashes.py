"""What fails again and again under one name: how often, how the last one ended, when it is tried.

In: a reader and a story. Out: CrashFacts, in two reads, of the newest allocations of the name.
"""

from collections.abc import Sequence

from cluster.store.ports import Listing, RecordReader
from dashboard.stories.gathered import Gathered
from dashboard.stories.told import CrashFacts
from dashboard.task_endings import ending_of
from scheduler.state.nouns import ALLOCATIONS
from scheduler.structs.allocation import Allocation, ClientStatus
from scheduler.structs.story import StoryKind


def crash_facts(reader: RecordReader, gathered: Gathered) -> CrashFacts | None:
    """Of crash loops as they are now; None of others and of the past."""
    story = gathered.story
    if story.kind is not StoryKind.CRASH_LOOP or gathered.past is not None:
        return None
    named = Listing(
        namespaces=(story.namespace,),
        equals={"job_id": story.job_id, "name": story.alloc_name},
        limit=1,
        reverse=True,
    )
    of_version = {
        **named.equals,
        "job_version": story.job_version,
        "job_create_index": story.job_create_index,
    }
    failed = Listing(
        namespaces=named.namespaces,
        equals={**of_version, "client_status": ClientStatus.FAILED.value},
        limit=1,
        reverse=True,
    )
    newest = reader.page(ALLOCATIONS, named)[:1]
    last = reader.page(ALLOCATIONS, failed)[:1]
    waits = [item.wait_until for item in gathered.evaluations.values() if not item.is_terminal]
    return CrashFacts(
        failed=reader.count(ALLOCATIONS, failed),
        last=_ended(last),
        next_at=max(waits, default=0),
        runs=any(alloc.client_status is ClientStatus.RUNNING for alloc in newest),
        starts=any(alloc.client_status is ClientStatus.PENDING for alloc in newest),
    )


def _ended(last: Sequence[Allocation]) -> str:
    """How the task of it that failed ended."""
    states = (state for alloc in last for state in alloc.task_states.values())
    return next((ending_of(state) for state in states if state.failed), "")
