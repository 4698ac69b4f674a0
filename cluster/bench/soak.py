"""Half an hour of mixed use: does any process keep what it should have forgotten?

Nodes of a simulated fleet run a large job that is changed now and then, small jobs come and are
purged, nodes are drained and opened again, pages are loaded one after the other and others stay
open. What has ended is collected each minute, so that the record itself stays as large as it is.
Memory of each process is taken all the while; from a third of the time on it must be flat.
"""

import os
import signal
import statistics
import subprocess
import sys
import threading
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from itertools import cycle

import httpx
import psutil
from django.conf import settings

from cluster.bench.audience import Audience, Seat
from cluster.bench.connection import Connection, RequestFailed
from cluster.bench.job_forms import job_form
from cluster.bench.processes import Meter
from cluster.bench.scenario import Figures, Options, WrongCount, target
from cluster.bench.target import Target
from cluster.runtime.clock import SystemClock

MINUTES = 30.0
NODES = 200
PAGES = 20
LARGE = "large"
LARGE_COUNT = 100
#: Small jobs that run at a time; the oldest is purged.
SMALL = 10
#: Of the whole time: how long caches may fill, and over what memory is averaged at both ends.
SETTLED, SPAN = 1 / 3, 1 / 15
#: Growth from there on that counts as a leak.
MOST_GROWTH = 0.10
#: Less than this is what any process takes and gives back as it works, MB.
LEAST_MB = 5
_SAMPLE_S, _JOB_S, _DRAIN_S, _CHANGE_S, _RETURN_S, _PAGE_S = 10.0, 3.0, 20.0, 45.0, 60.0, 0.25
_COLLECT_S = 60.0
#: How often each act is done; one that never is makes a soak of something else.
_EVERY_S = {
    "jobs": _JOB_S, "changes": _CHANGE_S, "drains": _DRAIN_S, "pages": _PAGE_S,
    "returns": _RETURN_S, "collections": _COLLECT_S,
}  # fmt: skip
_TOPICS = ("evaluations", "allocations", "jobs", "nodes", "overview:*")
_DRAIN = {"DrainSpec": {"Deadline": 20_000_000_000}}
_CLOCK = SystemClock()


class Grew(Exception):
    """Some process was not flat; the message says which, and by how much."""


def run(options: Options) -> Figures:
    """Use a cluster of its own in every way at once, and watch its memory. Raises Grew."""
    seconds = MINUTES * 60 * options.scale
    with target(options) as aim, _fleet(aim, options.scaled(NODES)) as fleet_pid:
        use = Use(aim)
        acts = (_jobs, _changes, _drains, _collections, _pages, _open_pages)
        threads = [threading.Thread(target=_until_over, args=(use, act)) for act in acts]
        for thread in threads:
            thread.start()
        try:
            samples = _samples(aim, fleet_pid, seconds)
        finally:
            use.over.set()
            for thread in threads:
                thread.join()
    done = {name: use.done[name] for name in _EVERY_S}
    check_done(done, seconds)
    return figures_of(samples, seconds) | done


def check_done(done: Mapping[str, int], seconds: float) -> None:
    """Raises WrongCount where an act was never done though there was time for it."""
    idle = [name for name, every_s in _EVERY_S.items() if seconds > 2 * every_s and not done[name]]
    if idle:
        raise WrongCount(f"never done in {seconds:.0f} s: {', '.join(idle)}")


class Use:
    """What goes on at once: the cluster, who is signed in, how much was done, is it over."""

    def __init__(self, aim: Target) -> None:
        assert aim.stack is not None, "pages need a way in, which only an own stack prints"
        self.aim = aim
        self.over = threading.Event()
        self.done: Counter[str] = Counter()
        with self.person({}) as person:
            person.get(aim.stack.login_link).raise_for_status()
            self.cookies = dict(person.cookies)

    def person(self, cookies: dict[str, str] | None = None) -> httpx.Client:
        """The browser of the one who signed in."""
        return httpx.Client(
            base_url=self.aim.address,
            cookies=self.cookies if cookies is None else cookies,
            trust_env=False,
            follow_redirects=True,
            timeout=60,
        )


Samples = dict[str, list[tuple[float, float]]]


def figures_of(samples: Samples, seconds: float) -> Figures:
    """Memory of each process where it should be settled and at the end. Raises Grew.

    `samples`: by process, the second and MB of each look.
    """
    figures: Figures = {"minutes": seconds / 60}
    grown = []
    for name, looks in sorted(samples.items()):
        start = _typical(looks, SETTLED * seconds, (SETTLED + SPAN) * seconds)
        end = _typical(looks, (1 - SPAN) * seconds, seconds)
        growth = end / start - 1
        figures |= {f"{name}_settled_mb": start, f"{name}_end_mb": end}
        figures[f"{name}_growth_percent"] = 100 * growth
        if growth > MOST_GROWTH and end - start > LEAST_MB:
            grown.append(f"{name} from {start:.0f} to {end:.0f} MB")
    if grown:
        raise Grew(f"grew by more than {MOST_GROWTH:.0%}: {', '.join(grown)}")
    return figures


def _typical(looks: list[tuple[float, float]], since: float, until: float) -> float:
    """The median between two seconds; where nobody looked, of the look nearest to them."""
    found = [size for second, size in looks if since <= second <= until]
    nearest = min(looks, key=lambda look: abs(look[0] - since))
    return statistics.median(found or [nearest[1]])


def _samples(aim: Target, fleet_pid: int, seconds: float) -> Samples:
    samples: Samples = defaultdict(list)
    began = _CLOCK.monotonic()
    pause = threading.Event()
    while (passed := _CLOCK.monotonic() - began) < seconds:
        # Processes of a Celery pool change: they are looked up each time.
        with suppress(psutil.NoSuchProcess):
            for name, size in Meter({**aim.pids, "fleet": fleet_pid}).memory_mb().items():
                samples[name.removesuffix("_memory_mb")].append((passed, size))
        pause.wait(min(_SAMPLE_S, seconds / 30))
    return samples


@contextmanager
def _fleet(aim: Target, nodes: int) -> Iterator[int]:
    """`manage.py runfleet` beside the cluster; its process id."""
    command = [
        sys.executable, str(settings.BASE_DIR / "manage.py"), "runfleet", "--nodes", str(nodes),
        "--addr", aim.address, "--join-token", aim.join_token,
    ]  # fmt: skip
    process = subprocess.Popen(  # noqa: S603 - our own command
        command, env=os.environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        with closing(aim.connect()) as connection:
            aim.until(lambda: _ready(connection) == nodes, f"{nodes} nodes are ready", 120)
        yield process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def _ready(connection: Connection) -> int:
    return sum(node["Status"] == "ready" for node in connection.get("/v1/nodes"))


Act = Callable[[Use], None]


def _until_over(use: Use, act: Act) -> None:
    """Act, from the start whenever something was refused or in the way, until the time is over."""
    while not use.over.is_set():
        with suppress(RequestFailed, OSError, httpx.HTTPError):
            act(use)
        use.over.wait(1)


def _jobs(use: Use) -> None:
    """Small jobs come, and the oldest is purged."""
    alive: deque[str] = deque()
    with closing(use.aim.connect()) as connection:
        while not use.over.wait(_JOB_S):
            use.done["jobs"] += 1
            alive.append(f"small-{use.done['jobs']}")
            connection.put("/v1/jobs", {"Job": job_form(alive[-1], count=3, cpu=10)})
            if len(alive) > SMALL:
                headers = {"X-Nomad-Token": use.aim.token}
                path = f"/v1/job/{alive.popleft()}?purge=true"
                connection.send("DELETE", path, None, headers)


def _changes(use: Use) -> None:
    """The large job gets a new version, which replaces all that runs."""
    with closing(use.aim.connect()) as connection:
        while not use.over.is_set():
            use.done["changes"] += 1
            form = job_form(LARGE, count=LARGE_COUNT, cpu=20)
            form["TaskGroups"][0]["Tasks"][0]["Env"] = {"VERSION": str(use.done["changes"])}
            connection.put("/v1/jobs", {"Job": form})
            use.over.wait(_CHANGE_S)


def _drains(use: Use) -> None:
    """One node after the other is drained, and opened again after a while."""
    with closing(use.aim.connect()) as connection:
        for node in cycle(connection.get("/v1/nodes")):
            path = f"/v1/node/{node['ID']}/drain"
            connection.put(path, _DRAIN)
            is_over = use.over.wait(_DRAIN_S)
            connection.put(path, {"DrainSpec": None, "MarkEligible": True})
            use.done["drains"] += 1
            if is_over:
                return


def _collections(use: Use) -> None:
    """What has ended is forgotten, as hours later by itself."""
    while not use.over.wait(_COLLECT_S):
        # Servers hang up on who says nothing for a minute.
        with closing(use.aim.connect()) as connection:
            connection.put("/v1/system/gc", {})
        use.done["collections"] += 1


def _pages(use: Use) -> None:
    """Pages of every kind, one after the other, of what there is just now."""
    with use.person() as person, closing(use.aim.connect()) as connection:
        while True:
            for path in _addresses(connection):
                use.done["pages"] += person.get(path).is_success
                if use.over.wait(_PAGE_S):
                    return


def _addresses(connection: Connection) -> Iterator[str]:
    yield from ("/", "/jobs/", "/evaluations/", "/allocations/", "/nodes/", "/drains/")
    yield from ("/jobs/new/", f"/jobs/default/{LARGE}/", "/help/states/")
    for evaluation in connection.get("/v1/evaluations?per_page=3&reverse=true"):
        yield f"/evaluations/{evaluation['ID']}/"
        yield f"/chains/{evaluation['ID']}/"
    for alloc in connection.get("/v1/allocations?per_page=3&reverse=true"):
        yield f"/allocations/{alloc['ID']}/"
        yield f"/nodes/{alloc['NodeID']}/"


def _open_pages(use: Use) -> None:
    """Pages that stay open, and now and then lose their line and come back."""
    cookie = "; ".join(f"{name}={value}" for name, value in use.cookies.items())
    seats = [Seat(_TOPICS, _index_now(use))] * PAGES
    with Audience(use.aim.address, cookie, seats) as audience:
        while not use.over.wait(_RETURN_S):
            for page in audience.pages:
                page.arrivals.clear()
            audience.all_again_from(_index_now(use))
            use.done["returns"] += 1


def _index_now(use: Use) -> int:
    with closing(use.aim.connect()) as connection:
        connection.get("/v1/nodes")
        return connection.index
