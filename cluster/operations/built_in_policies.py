"""Write the built-in policies into a record that never had any policy.

In: a store. Out: whether they were written. Once a policy was written, by whomever, nothing is.
"""

from cluster.operations.rights import require_management
from cluster.policies.built_in import BUILT_IN
from scheduler.access.caller import Caller
from scheduler.ports import Change, StateStore
from scheduler.state.nouns import ACL_POLICIES
from scheduler.structs.acl_policy import AclPolicy


def put_built_in_policies(store: StateStore, *, by: Caller, now: int) -> bool:
    """One write for all of them; a second process changes nothing."""
    require_management(by)
    if store.read(lambda reader: reader.table_index(ACL_POLICIES.table_index)):
        return False

    def work(change: Change) -> None:
        for each in BUILT_IN:
            if change.get(ACL_POLICIES, each.name) is None:
                change.put(
                    ACL_POLICIES,
                    AclPolicy(
                        name=each.name,
                        description=each.description,
                        rules=each.rules,
                        create_index=change.index,
                        modify_index=change.index,
                    ),
                )

    store.write(ACL_POLICIES.upserted, work, now=now, by=by)
    return True
