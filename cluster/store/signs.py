"""Whether anybody works on the record at this moment: what leases and web processes last said.

In: a store. Out: signs to compare with those of a little later. Processes of other machines show
in them as those of this one do.
"""

from typing import NamedTuple

from django.db import Error, connections

from cluster.store.transactions import read_transaction
from cluster.store.writer import DjangoStateStore


class Signs(NamedTuple):
    """Counts that move while somebody lives: by name of a lease, and of a web process."""

    leases: dict[str, tuple[str, int]]
    listeners: dict[str, int]

    def moved_since(self, earlier: "Signs") -> list[str]:
        """Who has given a sign since, in words."""
        leases = [
            f"the {name} {holder}"
            for name, (holder, renewals) in self.leases.items()
            if holder and (holder, renewals) != earlier.leases.get(name)
        ]
        webs = [
            f"the web process {name}"
            for name, signs in self.listeners.items()
            if signs != earlier.listeners.get(name)
        ]
        return leases + webs


def read_signs_of_life(store: DjangoStateStore) -> Signs:
    """What is to be seen now; nothing where there is no record that can be read."""
    connection = connections[store.alias]
    try:
        with read_transaction(connection), connection.cursor() as cursor:
            cursor.execute("SELECT name, holder, renewals FROM lease")
            leases = {name: (holder, int(renewals)) for name, holder, renewals in cursor}
            cursor.execute("SELECT name, signs FROM listener")
            return Signs(leases, {name: int(signs) for name, signs in cursor})
    except Error:
        return Signs({}, {})
