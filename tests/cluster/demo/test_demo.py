"""The demo: its job files are jobs, every scenario has a scene, and wishes are answered."""

import asyncio
import re

import pytest

from cluster.agent.means import Means
from cluster.demo import jobs
from cluster.demo.asking import NoDemo, Presence, Wish, ask
from cluster.demo.director import Director
from cluster.demo.scenarios import BY_NAME, SCENARIOS
from cluster.demo.scenes import SCENES, storm_jobs
from cluster.fleet.fleet import Faults, Fleet
from cluster.jobspec.parse import parse_text
from cluster.jobspec.validate import validate
from cluster.runtime.clock import RandomIDs, SystemClock, chance
from cluster.store.access import the_store
from dashboard.queries.demo import demo_panel

TEXTS = (
    jobs.fits(),
    jobs.blocked(),
    jobs.canary(is_broken=False),
    jobs.canary(is_broken=True),
    jobs.resident(),
    jobs.filler(),
    jobs.urgent(),
    jobs.rival(3, "demo-1-0002"),
    jobs.full_rack(),
    jobs.everywhere(7),
)


@pytest.mark.parametrize("text", TEXTS, ids=[re.findall(r'"(.*?)"', text)[0] for text in TEXTS])
def test_a_job_file_of_the_demo_is_a_job_and_is_cleared_up_by_its_name(text: str) -> None:
    parsed = parse_text(text)
    assert parsed.job is not None
    assert parsed.problems() == ()
    assert validate(parsed.job) == []
    assert parsed.job.id.startswith(jobs.PREFIX)


def test_every_scenario_has_a_scene() -> None:
    assert [scenario.name for scenario in SCENARIOS] == [*SCENES]


@pytest.mark.parametrize(("cores", "count"), [(1, 20), (2, 40), (4, 80), (64, 80)])
def test_the_storm_has_the_size_of_the_machine(cores: int, count: int) -> None:
    assert storm_jobs(cores) == count


def make_director() -> Director:
    means = Means(SystemClock(), RandomIDs(), chance)
    fleet = Fleet((), "http://127.0.0.1:1", "token", means, Faults())
    return Director(the_store(), fleet, means, "redis://127.0.0.1:1/0")


def test_a_scenario_begins_once_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    async def waits(_stage: object) -> None:
        await asyncio.sleep(3600)

    async def play() -> list[tuple[bool, str]]:
        director = make_director()
        monkeypatch.setitem(SCENES, "fits", waits)
        said = [director.begin(Wish(id=str(n), name=name)) for n, name in enumerate(names)]
        stopping = asyncio.Event()
        stopping.set()
        await director.run(stopping)
        return [(reply.has_begun, reply.text) for reply in said]

    names = ("fits", "fits", "nothing")
    begun, twice, unknown = asyncio.run(play())
    assert begun == (True, BY_NAME["fits"].shows)
    assert twice == (False, "“A job that fits” is still under way.")
    assert unknown[0] is False
    assert "There are: fits, blocked" in unknown[1]


def test_without_a_demo_the_wish_is_refused_with_what_to_do() -> None:
    with pytest.raises(NoDemo, match="Redis does not answer"):
        ask("redis://127.0.0.1:1/0", Wish(id="1", name="fits"))


def test_the_panel_says_what_is_under_way_and_what_failed() -> None:
    shown = demo_panel(Presence(running=("storm",), failed="“A storm” stopped: tired."))
    running = [row["scenario"].name for row in shown["scenarios"] if row["is_running"]]
    assert (running, shown["failed"]) == (["storm"], "“A storm” stopped: tired.")
    assert demo_panel(None)["is_there"] is False
