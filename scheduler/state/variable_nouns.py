"""The nouns of variables: what paths hold, and when locks on them run out.

In: their structs. Out: their declarations, which `nouns` takes into its list with all others.
"""

from scheduler.state.noun import Index, Noun
from scheduler.structs.variable import LockTimer, SealedVariable

_PLACE = ("namespace", "path")

VARIABLES: Noun[tuple[str, str], SealedVariable] = Noun(
    struct=SealedVariable,
    topic="Variable",
    table="variable",
    key=lambda variable: variable.key,
    key_columns=_PLACE,
    columns={
        "key_id": lambda variable: variable.key_id,
        "is_locked": lambda variable: variable.lock is not None,
        "create_index": lambda variable: variable.create_index,
        "modify_index": lambda variable: variable.modify_index,
    },
    instants={
        "created_at": lambda variable: variable.create_time,
        "modified_at": lambda variable: variable.modify_time,
    },
    indexes={
        "namespace": Index(lambda variable: variable.namespace, ("namespace",)),
        "key": Index(lambda variable: variable.key_id, ("key_id",)),
    },
    namespace=lambda variable: variable.namespace,
    table_index="variables",
)
#: By the variable; renewing a lock writes here alone.
LOCK_TIMERS: Noun[tuple[str, str], LockTimer] = Noun(
    struct=LockTimer,
    topic="VariableLock",
    table="variable_lock",
    key=lambda timer: (timer.namespace, timer.path),
    key_columns=_PLACE,
    instants={"ends_at": lambda timer: timer.ends_at},
    namespace=lambda timer: timer.namespace,
    table_index="variable_locks",
)
