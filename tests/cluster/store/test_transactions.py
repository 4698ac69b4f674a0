"""What stands around reads and writes of a connection."""

import threading

from django.db import connections

from cluster.store.transactions import read_transaction, write_transaction


def test_sqlite_gives_back_what_it_keeps_every_so_many_transactions(sqlite_store):
    said = []

    def work():
        connection = connections[sqlite_store.alias]
        connection.ensure_connection()
        connection.connection.set_trace_callback(said.append)
        for _ in range(400):
            with read_transaction(connection), connection.cursor() as cursor:
                cursor.execute("SELECT 1")
        for _ in range(700):
            with write_transaction(connection):
                pass
        connection.close()

    # Counted by thread: this one has done nothing yet.
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert said.count("PRAGMA shrink_memory") == 2
