"""Reads of stories: what one cause set going, and how far it is. Ours; no client knows them."""

from typing import Any

from django.http import HttpResponse
from msgspec.structs import replace

from cluster.api.blocking_read import answer_read
from cluster.api.encode import to_plain
from cluster.api.paging import check_uuid
from cluster.api.parameters import read_per_page
from cluster.api.request import Call
from cluster.api.respond import Found
from cluster.api.watches import watch_table
from cluster.operations.errors import OperationRefused
from cluster.operations.filter_expression import Filter, compile_filter
from cluster.operations.rights import require, require_reads
from cluster.operations.story_outcomes import StoryOutcome, outcomes_of
from cluster.operations.story_rights import hidden_kinds, level_of, levels_of
from cluster.store.ports import ListedStory, Namespaces, RecordReader, StoryFilter
from scheduler.access.access import EVERY_NAMESPACE
from scheduler.state.nouns import NAMESPACES
from scheduler.structs.identity import JobKey
from scheduler.structs.story import Story, StoryKind

NOT_FOUND = "story not found"
#: Stories, and evaluations of one, in a page whose size nobody says.
PAGE = 100
_TABLES = ("stories", "evaluations", "deployments", "allocations", "nodes")
_STATUSES = {"running": True, "ended": False, "": None}
_LARGEST_INDEX = (1 << 63) - 1
#: Stories in one read of those that an expression is put to.
_AT_ONCE = 1_000
#: Where a page begins: in which part, at which index and id.
Place = tuple[bool, int, str] | tuple[()]


async def list_stories(call: Call) -> HttpResponse:
    """GET /v1/stories: those that run first, and of each part the newest first."""
    call.require("read-job")
    asked = _filter(call)
    text = call.query.get("filter", "")
    given = compile_filter(text) if text else None
    limit = read_per_page(call.query) or PAGE
    after = _place(call.query.get("next_token", ""))

    def work(reader: RecordReader) -> Found:
        readable = _readable(call, reader)
        wanted = replace(asked, namespaces=_listed(call, reader))
        rows = _page(reader, wanted, limit, after, given)
        further = rows[limit].place if len(rows) > limit else None
        told = outcomes_of(reader, rows[:limit], readable)
        return Found(
            index=_index(reader),
            body=[story_form(row, told[row.story.id]) for row in rows[:limit]],
            next_token=_token(further) if further else "",
        )

    return await answer_read(call, work, *map(watch_table, _TABLES))


async def read_story(call: Call, story_id: str) -> HttpResponse:
    """GET /v1/story/<id>: with a page of the ids of its evaluations, oldest first."""
    check_uuid(story_id, "story lookup failed: ")
    limit = read_per_page(call.query) or PAGE
    _, index, eval_id = _place(call.query.get("next_token", "")) or (False, 0, "")
    after = (index, eval_id) if eval_id else ()

    def work(reader: RecordReader) -> Found:
        story = reader.story(story_id)
        _require(call, story)
        if story is None:
            return Found(index=_index(reader), missing=NOT_FOUND)
        readable = _readable(call, reader)
        row = ListedStory(story, story.id in reader.running_stories())
        told = outcomes_of(reader, [row], readable)[story.id]
        made = reader.story_evaluations(story_id, limit, after, readable)
        form = story_form(row, told) | {
            "EvaluationIDs": [each.evaluation.id for each in made[:limit]]
        }
        further = made[limit].evaluation if len(made) > limit else None
        token = _token((False, further.create_index, further.id)) if further else ""
        return Found(index=_index(reader), body=form, next_token=token)

    return await answer_read(call, work, *map(watch_table, _TABLES))


def story_form(row: ListedStory, told: StoryOutcome) -> dict[str, Any]:
    """A story and how far it is, as the API writes it."""
    rollout = told.deployment
    return to_plain(row.story) | {
        "Status": "running" if told.is_running else "ended",
        "Evaluations": told.evaluations,
        "EndTime": told.ended,
        "Outcome": {
            "Wanted": told.wanted,
            "There": told.there,
            "Placed": told.placed,
            "Waiting": told.waiting,
            "WaitsFor": told.waits_for,
            "Left": told.left,
            "DeploymentID": rollout.id if rollout else "",
            "DeploymentStatus": rollout.status.value if rollout else "",
        },
    }


def _page(
    reader: RecordReader, wanted: StoryFilter, limit: int, after: Place, given: Filter | None
) -> list[ListedStory]:
    """At most `limit` + 1 of those that an expression wants; others are read as well."""
    if given is None:
        return reader.stories(wanted, limit, after)
    found: list[ListedStory] = []
    while len(found) <= limit:
        rows = reader.stories(wanted, _AT_ONCE, after)
        found += (row for row in rows[:_AT_ONCE] if given.wants(row.story))
        if len(rows) <= _AT_ONCE:
            break
        after = rows[_AT_ONCE].place
    return found[: limit + 1]


def _filter(call: Call) -> StoryFilter:
    query = call.query
    kinds = [kind for kind in query.get("kind", "").split(",") if kind]
    unknown = sorted(set(kinds) - set(StoryKind))
    if unknown:
        raise OperationRefused(
            f"unknown kind of story: {', '.join(unknown)}; known are {', '.join(StoryKind)}"
        )
    status = query.get("status", "")
    if status not in _STATUSES:
        raise OperationRefused(f'status must be "running" or "ended", not "{status}"')
    job, node = query.get("job", ""), query.get("node", "")
    if job and call.namespace == EVERY_NAMESPACE:
        raise OperationRefused("a job is asked for in one namespace")
    if node:
        check_uuid(node, "node lookup failed: ")
    return StoryFilter(
        kinds=frozenset(StoryKind(kind) for kind in kinds),
        running=_STATUSES[status],
        job=JobKey(call.namespace, job) if job else None,
        node_id=node,
        actor=query.get("who"),
        hidden_kinds=hidden_kinds(levels_of(call.caller.access)),
    )


def _listed(call: Call, reader: RecordReader) -> Namespaces:
    """Namespaces whose stories are listed, and that of the cluster's own."""
    listed = call.listed(reader, "read-job")
    return None if listed is None else listed | {""}


def _readable(call: Call, reader: RecordReader) -> Namespaces:
    """Namespaces whose evaluations are told and counted."""
    if call.caller.access.allows_everywhere("read-job"):
        return None
    names = (each.name for each in reader.list_all(NAMESPACES))
    return frozenset(name for name in names if call.allows(name, "read-job"))


def _require(call: Call, story: Story | None) -> None:
    """Refuse callers who may not read it, or not where they ask for it."""
    if story is not None and not story.namespace:
        require_reads(call.caller, level_of(story))
    else:
        require(call.caller, call.namespace if story is None else story.namespace, "read-job")


def _index(reader: RecordReader) -> int:
    return max(reader.table_index(table) for table in _TABLES)


def _token(place: tuple[bool, int, str]) -> str:
    """Where a page begins: in which part, at which index and id."""
    is_running, index, story_id = place
    return f"{int(is_running)}.{index}.{story_id}"


def _place(token: str) -> Place:
    if not token:
        return ()
    part, _, rest = token.partition(".")
    index, _, story_id = rest.partition(".")
    if part not in ("0", "1") or not (index.isascii() and index.isdigit() and len(index) < 20):
        raise OperationRefused(f"next_token {token[:64]!r} names no page")
    return part == "1", min(int(index), _LARGEST_INDEX), story_id
