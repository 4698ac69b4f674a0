"""Several acts that begin together, each on a thread and a connection of its own."""

import threading

from django.db import connections

from cluster.operations.errors import OperationRefused


def at_once(store, *acts):
    """What each act gave, or its refusal; all of them begin together."""
    start, outcomes = threading.Barrier(len(acts)), [None] * len(acts)

    def run(number, act):
        start.wait()
        try:
            outcomes[number] = act()
        except OperationRefused as refusal:
            outcomes[number] = refusal
        finally:
            connections[store.alias].close()

    threads = [threading.Thread(target=run, args=each) for each in enumerate(acts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes
