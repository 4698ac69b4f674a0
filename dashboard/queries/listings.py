"""Lists that several pages ask for. In: keys and numbers. Out: Listings for a reader's `page`."""

from cluster.store.ports import Listing
from scheduler.structs.identity import JobKey


def newest_of_job(key: JobKey, limit: int, **equals: str) -> Listing:
    """The newest rows of a job, one more than `limit` when there are more."""
    return Listing(
        namespaces=(key.namespace,),
        equals={"job_id": key.job_id, **equals},
        limit=limit,
        reverse=True,
    )
