"""Which jobs hold most of a namespace or a pool.

In: what the database summed by job. Out: the context of `_holders.html`.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from cluster.page_addresses import job_url
from cluster.store.ports import RoomHeld
from dashboard.governance import Share
from scheduler.structs.identity import JobKey

#: Jobs that are told, those that hold most first.
MAX_HOLDERS = 30


class JobHolder(msgspec.Struct, frozen=True, kw_only=True):
    """A job and what its allocations hold."""

    name: str
    namespace: str
    url: str
    held: RoomHeld
    shares: tuple[Share, ...]


def job_holders(
    found: Iterable[tuple[JobKey, RoomHeld]], cpu_mhz: int, memory_mb: int
) -> dict[str, Any]:
    """Each job with its shares of what all hold together: `cpu_mhz`, `memory_mb`."""
    holders = [
        JobHolder(
            name=key.job_id,
            namespace=key.namespace,
            url=job_url(key),
            held=held,
            shares=(
                Share(word="CPU", unit="MHz", used=held.cpu_mhz, total=cpu_mhz),
                Share(word="Memory", unit="MiB", used=held.memory_mb, total=memory_mb),
            ),
        )
        for key, held in found
    ]
    return {"holders": holders, "holders_limit": MAX_HOLDERS}
