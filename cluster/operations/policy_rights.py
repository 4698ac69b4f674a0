"""What policies let their bearers do, compiled from the stored texts once per set of texts.

In: a reader and the names of policies. Out: an `Access`. Who bears them is not known here. A
changed policy counts with the next question, because the texts are read each time.
"""

from collections.abc import Iterable
from functools import lru_cache

from cluster.policies.read import read_stored_policy
from scheduler.access.access import Access, access_of
from scheduler.ports import StateReader
from scheduler.state.nouns import ACL_POLICIES

#: The policy of whoever shows no token.
ANONYMOUS_POLICY = "anonymous"


def access_by_policies(reader: StateReader, names: Iterable[str]) -> Access:
    """The rights that policies give together; a name without a policy gives none."""
    found = (reader.get(ACL_POLICIES, name) for name in names)
    return access_by_texts({policy.rules for policy in found if policy is not None})


def access_by_texts(texts: Iterable[str]) -> Access:
    """The rights that texts of policies give together."""
    return _compiled(tuple(sorted(set(texts))))


@lru_cache(maxsize=1024)
def _compiled(texts: tuple[str, ...]) -> Access:
    return access_of(map(read_stored_policy, texts))
