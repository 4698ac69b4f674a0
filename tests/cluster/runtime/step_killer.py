"""Lets a small job go its way in a process of its own, which is killed (`kill -9`) at a step.

In: lines of a step, a record of SQLite and the address of Redis; out: for each a line, whether the
registration was acknowledged. The parts are those of `test_small_job_cost`; one fork per line, so
that all is loaded once. Nothing is closed, flushed or told before the end.
"""

import os
import signal
import sys
from pathlib import Path

#: In the order of the way; the first of each pair is what has just happened.
STEPS = (
    "the registration is about to be committed",
    "registered",
    "delivered",
    "planned",
    "the plan is with the applier",
    "the plan is about to be committed",
    "the plan is committed",
    "the leader was told",
    "acked",
)


def main() -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    import django

    django.setup()
    import tests.cluster.runtime.test_small_job_cost  # noqa: F401 - so that forks have it

    for line in sys.stdin:
        step, place, redis_url = line.rstrip("\n").split("\t")
        acknowledged, told = os.pipe()
        child = os.fork()
        if not child:
            os.close(acknowledged)
            go(Path(place), redis_url, step, told)
            os._exit(0)
        os.close(told)
        _, status = os.waitpid(child, 0)
        with os.fdopen(acknowledged, "rb") as said:
            words = "acknowledged" if said.read() else "unanswered"
        was_killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        sys.stdout.write(f"{words if was_killed else 'not killed'}\n")
        sys.stdout.flush()


def go(place: Path, redis_url: str, step: str, told: int) -> None:
    """The way of one job up to the step."""
    from django.db import connections

    from cluster.operations.jobs import JobRegistration, register_job
    from cluster.runtime.clock import RandomIDs
    from tests.builders import make_job
    from tests.callers import MANAGER
    from tests.cluster.runtime.test_small_job_cost import CLOCK, Cluster
    from tests.record_databases import database, sqlite_settings

    def reached(here: str) -> None:
        if here == step:
            os.kill(os.getpid(), signal.SIGKILL)

    def at_commit(here: str) -> None:
        connection = connections[alias]
        connection.ensure_connection()
        connection.connection.set_trace_callback(
            lambda statement: reached(here) if statement == "COMMIT" else None
        )

    with database(sqlite_settings(place)) as alias:
        from cluster.store.writer import DjangoStateStore

        cluster = Cluster(DjangoStateStore(alias), redis_url)
        cluster.ask_for_work()
        cluster.ask_for_plans()
        cluster.lead(2)
        request = JobRegistration(job=make_job(id="job-1"))
        at_commit(STEPS[0])
        register_job(cluster.store, request, by=MANAGER, now=CLOCK.now(), ids=RandomIDs())
        connections[alias].connection.set_trace_callback(None)
        os.write(told, b"+")
        reached("registered")
        cluster.lead()
        reached("delivered")
        cluster.decide()
        reached("planned")
        cluster.lead(1)
        reached("the plan is with the applier")
        at_commit(STEPS[5])
        cluster.apply(lambda: reached("the plan is committed"))
        cluster.applier.flush()
        reached("the leader was told")
        cluster.lead(2)
        reached("acked")


if __name__ == "__main__":
    main()
