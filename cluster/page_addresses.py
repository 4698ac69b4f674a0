"""Where the page of a job is, for everybody who writes links.

In: the key of a job, whatever its id holds. Out: an address that leads to that job and no other,
also after a browser has tidied it. Knows nothing of who may see it.
"""

import re
from functools import lru_cache
from urllib.parse import quote, urlencode

from scheduler.structs.identity import JobKey

#: Browsers resolve dot segments even where they are escaped; an empty one ends in a redirect of
#: some proxies; no pattern of an address matches over a line break.
_UNSAFE_SEGMENTS = frozenset({"", ".", ".."})
_LINE_BREAKS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
#: What follows an id in an address of its own.
_EDIT = "edit"


# Rows of one page mostly name the same few jobs.
@lru_cache(4096)
def job_url(key: JobKey, *, tab: str = "") -> str:
    """The page of a job; `tab` is one of its parts."""
    if _reads_as_path(key):
        return _path(key) + (f"?{urlencode({'tab': tab})}" if tab else "")
    return f"/jobs/named/?{_query(key)}" + (f"&{urlencode({'tab': tab})}" if tab else "")


def job_edit_url(key: JobKey) -> str:
    """The page that edits a job."""
    return f"{_path(key)}{_EDIT}/" if _reads_as_path(key) else f"/jobs/edit/?{_query(key)}"


def job_usage_url(key: JobKey) -> str:
    """The page that shows what a job uses."""
    return f"/jobs/usage/?{_query(key)}"


def allocations_url(key: JobKey) -> str:
    """The list of a job's allocations."""
    return f"/allocations/?{urlencode({'namespace': key.namespace, 'job': key.job_id})}"


def job_checks_url(key: JobKey) -> str:
    """The page that shows what the checks of a job's services found."""
    return f"/jobs/checks/?{_query(key)}"


def _reads_as_path(key: JobKey) -> bool:
    """Whether `/jobs/<namespace>/<id>/` is this job's alone."""
    segments = key.job_id.split("/")
    return (
        "/" not in key.namespace
        and not _UNSAFE_SEGMENTS & {key.namespace, *segments}
        and segments[-1] != _EDIT
        and not _LINE_BREAKS.search(key.namespace + key.job_id)
    )


def _path(key: JobKey) -> str:
    return f"/jobs/{quote(key.namespace, safe='')}/{quote(key.job_id)}/"


def _query(key: JobKey) -> str:
    return urlencode({"namespace": key.namespace, "id": key.job_id})
