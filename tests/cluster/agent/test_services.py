"""Where an agent says that services listen, what it checks, and what follows from it."""

import asyncio
import contextlib

import pytest
from msgspec.structs import replace

from cluster.agent.agent_state import DiskStorage, NoStorage
from cluster.agent.alloc_host import AllocHost
from cluster.agent.alloc_runner import AllocRunner, Surroundings, TaskRefused
from cluster.agent.check_keeper import CheckKeeper
from cluster.agent.check_probe import Prober
from cluster.agent.check_state import CheckStatus, RestartWatch
from cluster.agent.drivers.mock import MockDriver
from cluster.agent.restarts import Ending
from cluster.agent.server_link import CallFailed
from cluster.agent.service_keeper import ServiceKeeper
from cluster.agent.services import (
    NoAddress,
    planned_checks,
    registrations_of,
    wanted_registrations,
)
from cluster.agent.task_launch import TaskLauncher
from cluster.agent.task_run import StopTask
from cluster.runtime.clock import RandomIDs, SystemClock
from scheduler.structs.allocation import (
    AllocatedResources,
    ClientStatus,
    DeploymentHealth,
    NetworkStatus,
)
from scheduler.structs.network import AllocatedPort, NetworkResource, Port
from scheduler.structs.policies import RestartPolicy
from scheduler.structs.resources import AllocatedSharedResources, AllocatedTaskResources
from scheduler.structs.service import Check, CheckRestart, Service
from tests.builders import make_allocation, make_job, make_node, make_task, make_task_group
from tests.cluster.agent.deadline import until

SECOND = 1_000_000_000
T0 = 1_750_000_000 * SECOND
CLOCK = SystemClock()
NODE = replace(
    make_node(1), attributes={**make_node(1).attributes, "unique.network.ip-address": "192.0.2.7"}
)
PORTS = (AllocatedPort(label="http", value=21_000, to=8080, host_ip="192.0.2.1"),)
WEB = Service(name="web", provider="nomad", port_label="http")


def make_runner(*services, task_services=(), health=None, **task):
    task = make_task(services=tuple(task_services), **task)
    group = make_task_group(services=services, tasks=(task,))
    job = make_job(task_groups=(group,))
    shared = AllocatedSharedResources(ports=PORTS)
    alloc = make_allocation(
        job, allocated_resources=AllocatedResources(shared=shared), deployment_status=health
    )
    return AllocRunner(alloc, job, Surroundings(), now=T0)


def addresses(runner, task=""):
    return [(each.address, each.port) for each in registrations_of(runner, NODE, task)]


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        pytest.param({}, ("192.0.2.1", 21_000), id="auto"),
        pytest.param({"address_mode": "host"}, ("192.0.2.1", 21_000), id="host"),
        pytest.param({"port_label": "9090"}, ("192.0.2.7", 9090), id="numeric"),
        pytest.param({"address": "web.example"}, ("web.example", 21_000), id="own address"),
        pytest.param(
            {"address": "web.example", "port_label": "99"}, ("web.example", 99), id="own port"
        ),
        pytest.param(
            {"address": "web.example", "port_label": ""}, ("web.example", 0), id="no port"
        ),
        pytest.param({"address_mode": "alloc"}, ("10.0.0.9", 8080), id="inside"),
    ],
)
def test_where_a_service_listens(fields, found):
    runner = make_runner(replace(WEB, **fields))
    runner.network_status = NetworkStatus(address="10.0.0.9")
    assert addresses(runner) == [found]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"port_label": "nope"}, 'invalid port "nope": port label not found'),
        ({"port_label": "0"}, 'invalid port: "0": port must be >0'),
        ({"address_mode": "driver"}, 'cannot use address_mode="driver": no driver network exists'),
        (
            {"address_mode": "alloc"},
            'cannot use address_mode="alloc": no allocation network status reported',
        ),
        (
            {"address_mode": "host", "address": "x"},
            'cannot use custom advertise address with "host" address mode',
        ),
    ],
)
def test_an_address_that_cannot_be_told_fails_the_set_up_and_says_why(fields, words):
    runner = make_runner(replace(WEB, **fields), replace(WEB, name="bad", port_label="x"))
    with pytest.raises(NoAddress) as refused:
        registrations_of(runner, NODE, "")
    assert str(refused.value).startswith("2 errors occurred")
    assert f'unable to get address for service "web": {words}' in str(refused.value)


def test_ids_names_and_tags_are_those_of_the_reference():
    tagged = replace(WEB, tags=("a-${NOMAD_ALLOC_INDEX}",), canary_tags=("c",))
    runner = make_runner(tagged, task_services=(replace(WEB, name="side"),))
    (of_group,) = registrations_of(runner, NODE, "")
    (of_task,) = registrations_of(runner, NODE, "web")
    alloc, group = runner.alloc.id, runner.group.name
    assert of_group.id == f"_nomad-task-{alloc}-group-{group}-web-http"
    assert of_task.id == f"_nomad-task-{alloc}-web-side-http"
    assert of_group.tags == ("a-0",)
    runner.deployment_status = DeploymentHealth(canary=True)
    assert registrations_of(runner, NODE, "")[0].tags == ("c",)


def test_services_of_consul_are_not_ours_to_register():
    assert registrations_of(make_runner(replace(WEB, provider="consul")), NODE, "") == []


def names(runner):
    return sorted(each.service_name for each in wanted_registrations(runner, NODE).values())


def test_a_group_is_found_from_its_beginning_and_a_task_while_it_runs():
    runner = make_runner(WEB, task_services=(replace(WEB, name="side"),))
    runner.begin(T0)
    assert names(runner) == ["web"]
    runner.task_started("web", T0)
    assert names(runner) == ["side", "web"]
    runner.restart_tasks("web", T0, all_tasks=False)
    assert names(runner) == ["web"]
    runner.task_ended("web", Ending(), T0)
    runner.task_started("web", T0)
    assert names(runner) == ["side", "web"]
    runner.kill(T0)
    assert names(runner) == []


def of_all(runner, now):
    return runner.restart_tasks("", now, all_tasks=True)


def of_running(runner, now):
    return runner.restart_tasks("", now, all_tasks=False)


def by_check(runner, now):
    return runner.fail_checked("", "healthcheck", now)


@pytest.mark.parametrize("restart", [of_all, of_running, by_check])
def test_a_group_leaves_the_list_for_its_delay_before_all_its_tasks_start_anew(restart):
    runner = make_runner(WEB)
    runner.group = replace(runner.group, shutdown_delay=5 * SECOND)
    runner.begin(T0)
    runner.task_started("web", T0)

    assert restart(runner, T0) == restart(runner, T0 + SECOND) == []
    (*_, before, said) = [each.display_message for each in runner.tasks["web"].state.events]
    assert said == "Waiting for shutdown_delay of 5s before all tasks are restarted."
    assert before == "Task started by client"
    assert (names(runner), runner.wake_at) == ([], T0 + 5 * SECOND)
    assert runner.tick(T0 + 4 * SECOND) == []
    assert isinstance(runner.tick(T0 + 5 * SECOND)[0], StopTask)
    assert names(runner) == ["web"]


def test_a_group_that_has_left_the_list_is_stopped_once_that_delay_is_over():
    runner = make_runner(WEB)
    runner.group = replace(runner.group, shutdown_delay=5 * SECOND)
    runner.begin(T0)
    runner.task_started("web", T0)
    of_all(runner, T0)
    assert runner.kill(T0 + SECOND) == []
    assert (names(runner), runner.wake_at) == ([], T0 + 5 * SECOND)
    (stop,) = runner.tick(T0 + 5 * SECOND)
    assert isinstance(stop, StopTask)
    with pytest.raises(TaskRefused, match="restart of an alloc that should not run"):
        of_all(runner, T0 + 6 * SECOND)


class Link:
    """A server that writes down what it is told, or cannot be reached."""

    def __init__(self):
        self.told = []
        self.is_away = False

    async def services(self, message):
        if self.is_away:
            raise CallFailed("away")
        self.told.append(message)


@contextlib.asynccontextmanager
async def hosted(*services, storage=None, **group):
    task = make_task(driver="mock_driver", config={"run_for": "1h"}, kill_timeout=SECOND)
    group = {"restart_policy": RestartPolicy(attempts=0, mode="fail")} | group
    job = make_job(task_groups=(make_task_group(services=services, tasks=(task,), **group),))
    shared = AllocatedSharedResources(ports=PORTS)
    alloc = make_allocation(job, allocated_resources=AllocatedResources(shared=shared))
    launcher = TaskLauncher(lambda: NODE, {}, RandomIDs())
    drivers = {"mock_driver": MockDriver(CLOCK.now)}
    host = AllocHost(launcher, drivers, storage or NoStorage(), CLOCK, Surroundings())
    link = Link()
    keeper, checks = ServiceKeeper(host, link, CLOCK, "test"), CheckKeeper(host, CLOCK)

    def changed(alloc_id):
        keeper.look(alloc_id)
        checks.look(alloc_id)

    host.changed = changed
    loop = asyncio.create_task(keeper.run())
    try:
        host.add(alloc, job)
        yield host, alloc, link, checks, keeper
    finally:
        loop.cancel()
        await checks.close()
        await host.close()


async def test_the_server_is_told_of_what_changed_and_of_everything_when_it_forgot():
    async with hosted(WEB) as (host, alloc, link, _, keeper):
        await until(lambda: link.told)
        assert link.told[0].is_whole
        assert [each.service_name for each in link.told[0].registered] == ["web"]
        keeper.begin_anew()
        await until(lambda: len(link.told) == 2)
        assert link.told[1] == link.told[0]
        link.is_away = True
        stopped = alloc.changed(desired_status="stop")
        host.update(stopped, host.entries[alloc.id].runner.job)
        await asyncio.sleep(0.1)
        link.is_away = False
        await until(lambda: len(link.told) == 3)
        assert (link.told[2].registered, link.told[2].ended) == (
            (),
            (link.told[0].registered[0].id,),
        )


async def test_an_allocation_whose_service_has_no_address_does_not_begin(tmp_path):
    storage = DiskStorage(tmp_path / "state", tmp_path / "alloc")
    bad = replace(WEB, port_label="nope")
    async with hosted(bad, storage=storage) as (host, alloc, _, _, _):
        runner = host.entries[alloc.id].runner
        assert runner.client_status[0] is ClientStatus.FAILED
        (event,) = runner.tasks["web"].state.events
        assert event.display_message == (
            'failed to setup alloc: pre-run hook "group_services" failed: 1 error occurred:\n\t*'
            ' unable to get address for service "web": invalid port "nope": port label not found'
            "\n\n"
        )
    storage.close()


async def serve(answer):
    async def talk(reader, writer):
        with contextlib.suppress(asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer())
            await writer.drain()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    return server, server.sockets[0].getsockname()[1]


def checked(port, **fields):
    given = {
        "name": "alive", "type": "http", "path": "/up", "interval": SECOND // 10,
        "timeout": SECOND,
    }  # fmt: skip
    service = replace(WEB, address="127.0.0.1", port_label=str(port))
    return replace(service, checks=(Check(**(given | fields)),))


GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
BAD = b"HTTP/1.1 503 Nope\r\nContent-Length: 4\r\n\r\nbusy"


async def test_a_check_says_what_it_found_and_changes_with_the_service():
    answers = [GOOD]
    server, port = await serve(lambda: answers[-1])
    async with server, hosted(checked(port)) as (host, alloc, _, checks, _):
        (first,) = checks.results(alloc.id).values()
        assert (first["Status"], first["Mode"], first["Group"]) == (
            "pending", "healthiness", alloc.name,
        )  # fmt: skip

        def found():
            (check,) = checks.results(alloc.id).values()
            return check

        await until(lambda: found()["Status"] == "success")
        assert (found()["Output"], found()["StatusCode"]) == ("nomad: http ok", 200)
        assert host.entries[alloc.id].runner.health.failing == ()
        answers.append(BAD)
        await until(lambda: found()["Status"] == "failure")
        assert (found()["Output"], found()["StatusCode"]) == ("busy", 503)
        assert host.entries[alloc.id].runner.health.failing == ("alive",)
        host.remove(alloc.id)
        await until(lambda: checks.results(alloc.id) == {})


async def test_a_task_whose_check_fails_for_too_long_is_restarted_as_one_that_failed():
    restart = CheckRestart(limit=2, grace=0)
    server, port = await serve(lambda: BAD)
    async with server, hosted(checked(port, check_restart=restart)) as (host, alloc, *_):
        runner = host.entries[alloc.id].runner
        await until(lambda: runner.is_terminal)
        said = [event.display_message for event in runner.tasks["web"].state.events]
        assert 'healthcheck: check "alive" unhealthy' in said
        assert said[-1] == "Policy allows no restarts"
        assert runner.client_status[0] is ClientStatus.FAILED


async def test_a_check_begins_as_its_initial_status_says():
    async with hosted(checked(9, initial_status="passing")) as (_, alloc, _, checks, _):
        (check,) = checks.results(alloc.id).values()
        assert check["Status"] == "success"


async def test_a_tcp_check_connects_or_says_why_not():
    server, port = await serve(lambda: GOOD)
    runner = make_runner(checked(port, type="tcp"))
    (planned,) = planned_checks(runner, NODE).values()
    prober = Prober()
    async with server:
        good = await prober.probe(planned)
    bad = await prober.probe(planned)
    assert (good.status, good.output) == (CheckStatus.SUCCESS, "nomad: tcp ok")
    assert bad.status is CheckStatus.FAILURE
    assert f"127.0.0.1:{port}" in bad.output
    (planned,) = planned_checks(make_runner(checked(port)), NODE).values()
    refused = await prober.probe(planned)
    await prober.close()
    assert refused.output.startswith(f"127.0.0.1:{port}: [Errno 111] Connect call failed")


async def test_a_probe_asks_as_its_check_says_and_follows_where_it_is_led():
    heard = []

    async def lead(reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        heard.append([*head.decode().splitlines(), (await reader.read(4)).decode()])
        writer.write(b"HTTP/1.1 307 There\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n"
                     if len(heard) == 1 else GOOD)  # fmt: skip
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(lead, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    asks = checked(
        port, path="/a%2Fb?q=1%20x", method="put", body="body",
        header={"Host": ("inner.example",), "X-Many": ("1", "2")},
    )  # fmt: skip
    (planned,) = planned_checks(make_runner(asks), NODE).values()
    prober = Prober()
    async with server:
        found = await prober.probe(planned)
    await prober.close()
    assert (found.status, found.status_code) == (CheckStatus.SUCCESS, 200)
    assert [lines[0] for lines in heard] == ["PUT /a%2Fb?q=1%20x HTTP/1.1", "PUT /b HTTP/1.1"]
    for lines in heard:
        assert {"Host: inner.example", "X-Many: 1", "X-Many: 2", "body"} <= set(lines)


@pytest.mark.parametrize(
    ("answer", "status", "output"),
    [
        pytest.param("204 Nothing", CheckStatus.SUCCESS, "", id="nothing"),
        pytest.param("304 Same", CheckStatus.SUCCESS, "", id="the same"),
        pytest.param("400 Bad", CheckStatus.FAILURE, "", id="bad"),
    ],
)
async def test_an_answer_below_400_passes(answer, status, output):
    server, port = await serve(f"HTTP/1.1 {answer}\r\n\r\n".encode)
    (planned,) = planned_checks(make_runner(checked(port)), NODE).values()
    prober = Prober()
    async with server:
        found = await prober.probe(planned)
    await prober.close()
    assert (found.status, found.output) == (status, output)
    assert found.status_code == int(answer[:3])


def test_a_service_listens_on_a_port_that_its_task_has_for_itself():
    runner = make_runner(task_services=(replace(WEB, port_label="own"),))
    network = NetworkResource(ip="192.0.2.5", reserved_ports=(Port(label="own", value=99),))
    granted = AllocatedResources(tasks={"web": AllocatedTaskResources(networks=(network,))})
    runner.alloc = runner.alloc.changed(allocated_resources=granted)
    assert addresses(runner, "web") == [("192.0.2.5", 99)]


async def test_who_does_not_answer_in_time_fails_the_check():
    done = asyncio.Event()

    async def silent(_reader, writer):
        await done.wait()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    (planned,) = planned_checks(make_runner(checked(port, timeout=SECOND // 5)), NODE).values()
    prober = Prober()
    outcome = await prober.probe(planned)
    await prober.close()
    done.set()
    server.close()
    await server.wait_closed()
    assert (outcome.status, outcome.output) == (CheckStatus.FAILURE, "no answer within 200ms")


def test_a_restart_waits_for_grace_and_for_as_many_failures_as_the_limit_says():
    watch = RestartWatch(CheckRestart(limit=3, grace=10), interval=5, begun=100)
    told = [
        watch.is_due(CheckStatus.FAILURE, now) for now in (105, 110, 115, 119, 120)
    ]  # fmt: skip
    assert told == [False, False, False, False, True]
    again = RestartWatch(CheckRestart(limit=2, grace=0), interval=5, begun=100)
    assert not again.is_due(CheckStatus.FAILURE, 100)
    assert not again.is_due(CheckStatus.SUCCESS, 104)
    assert not again.is_due(CheckStatus.FAILURE, 105)
    assert again.is_due(CheckStatus.PENDING, 110)
