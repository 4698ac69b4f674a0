"""The parts of a job's page, with how many of what each tells there are.

In: a reader, a job. Out: the tabs of `_tabs.html` and their counts, which live frames bring again
as facts. Counting decodes no row but the versions, which are few.
"""

from collections.abc import Collection, Mapping
from typing import Any

from django.utils.translation import gettext_noop
from msgspec.structs import replace

from cluster.operations.story_rights import levels_of
from cluster.page_addresses import job_url
from cluster.store.ports import Listing, RecordReader
from dashboard.queries.filter_words import filter_words
from dashboard.queries.job_lists import JOB_LISTS
from dashboard.queries.list_wish import NAMESPACE
from dashboard.queries.lists import read_list
from dashboard.queries.stories import seen_stories
from dashboard.subscription import topic_text
from dashboard.viewer import Viewer
from dashboard.wording import number
from scheduler.state import nouns
from scheduler.structs.identity import JobKey

#: In the order in which one asks: what was set going, what was decided, what came of it.
TABS: Mapping[str, str] = {
    "overview": gettext_noop("Overview"),
    "stories": gettext_noop("Stories"),
    "evaluations": gettext_noop("Evaluations"),
    "versions": gettext_noop("Versions"),
    "deployments": gettext_noop("Deployments"),
    "allocations": gettext_noop("Allocations"),
    "definition": gettext_noop("Definition"),
}

#: Evaluations of a job of which stories are told; to count those of more takes too long.
MOST_COUNTED = 10_000


def tab_counts(reader: RecordReader, key: JobKey, levels: Collection[str]) -> dict[str, int]:
    """By the name of a tab, how many rows it has, for somebody with these rights.

    Stories are told from evaluations, one by one: of a job with very many they are not counted.
    """
    listing = Listing(namespaces=(key.namespace,), equals={"job_id": key.job_id})
    seen = replace(seen_stories(frozenset({key.namespace}), levels), job=key)
    evaluations = reader.count(nouns.EVALUATIONS, listing)
    stories = sum(reader.story_tally(seen).values()) if evaluations <= MOST_COUNTED else None
    return {
        **({"stories": stories} if stories is not None else {}),
        "evaluations": evaluations,
        "versions": len(reader.job_versions(key)),
        "deployments": reader.count(nouns.DEPLOYMENTS, listing),
        "allocations": reader.count(nouns.ALLOCATIONS, listing),
    }


def tab_facts(counts: Mapping[str, int]) -> dict[str, str]:
    """The counts as texts, by the names that the page knows them by."""
    told = {_fact(name): number(count) for name, count in counts.items()}
    # An open page may show a count that is not known any more.
    return {_fact("stories"): ""} | told


def job_tabs(counts: Mapping[str, int], key: JobKey, chosen: str) -> list[dict[str, Any]]:
    """The tabs of the page, one of them chosen."""
    return [
        {
            "word": word,
            "url": job_url(key, tab=name),
            "is_current": name == chosen,
            "count": counts.get(name),
            "fact": _fact(name) if name in counts else "",
        }
        for name, word in TABS.items()
    ]


def _fact(name: str) -> str:
    return f"job-tab-{name}"


def list_of_job(
    reader: RecordReader, viewer: Viewer, key: JobKey, tab: str, query: Mapping[str, str]
) -> dict[str, Any]:
    """One of the tabs that are lists, as its address asks for it."""
    kind = JOB_LISTS[tab].as_seen(levels_of(viewer.access))
    wish = kind.wish({**query, NAMESPACE: key.namespace, "job": key.job_id})
    found = read_list(reader, kind, wish, kind.seen_by(viewer.namespaces), viewer.now)
    return {
        "list": found,
        "list_title": TABS[tab],
        "filter_words": filter_words(found),
        "list_topic": topic_text(kind.name, wish.key),
    }
