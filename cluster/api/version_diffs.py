"""Differences between the stored versions of a job, as `…/versions?diffs=true` gives them."""

from collections.abc import Sequence
from typing import Any

import msgspec
from django.http import QueryDict

from cluster.api.encode import to_plain
from cluster.api.parameters import read_flag, read_unsigned
from cluster.jobspec.diff import diff_jobs
from cluster.operations.job_versions import tagged_among, version_among
from scheduler.structs.job import Job


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """What to compare: nothing, each version with the one before, or all with one."""

    wanted: bool = False
    tag: str = ""
    version: int | None = None


def read_comparison(query: QueryDict) -> Comparison:
    """The comparison a query asks for."""
    wanted = read_flag(query, "diffs") or False
    version = read_unsigned(query, "diff_version")
    return Comparison(wanted=wanted, tag=query.get("diff_tag", ""), version=version)


def version_diffs(versions: Sequence[Job], comparison: Comparison) -> list[Any] | None:
    """Newest first; `[i]` describes the step from `versions[i + 1]` to `versions[i]`.

    With a tag or a version, each version compared to that one, itself included.
    """
    if comparison.tag or comparison.version is not None:
        base = _base(versions, comparison)
        return [to_plain(diff_jobs(base, version)) for version in versions]
    if not comparison.wanted:
        return None
    steps = zip(versions[1:], versions[:-1], strict=True)
    return [to_plain(diff_jobs(older, newer)) for older, newer in steps] or None


def _base(versions: Sequence[Job], comparison: Comparison) -> Job:
    if comparison.tag:
        return tagged_among(versions, comparison.tag)
    return version_among(versions, comparison.version or 0)
