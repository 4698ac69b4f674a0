"""Puts the leader together from settings, and runs it until the process is told to end."""

import signal
import threading

from django.conf import settings

from cluster.runtime.calm_collector import calm_collector
from cluster.runtime.leader_process import LeaderProcess
from cluster.runtime.process_name import is_known_dead, process_name
from cluster.store.access import the_store
from cluster.store.leases import LeaseKeeper


def run_leader() -> None:
    """Lead, or stand by, until SIGTERM or SIGINT."""
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    calm_collector()
    keeper = LeaseKeeper("leader", process_name("leader"), is_dead=is_known_dead)
    LeaderProcess(the_store(), keeper, settings.BIVOUAC_REDIS_URL).run(stopping)
