"""Sessions inside tasks: real commands beside a real task, frames in, frames out."""

import asyncio
import base64
from contextlib import aclosing

import msgspec
import pytest

from cluster.agent.channel_client import AnswerRefused
from cluster.agent.exec_sessions import ExecSessions, nothing_given
from cluster.agent.process_identity import start_time_of
from cluster.operations.session_frames import BEGUN, exit_code_of, output
from scheduler.structs.allocation import ClientStatus
from tests.cluster.agent.deadline import until
from tests.cluster.agent.real_node import Node, make_work

SLEEP = {"command": "/bin/sh", "args": ["-c", "exec sleep 600"]}


@pytest.fixture
async def node(tmp_path):
    node = Node(tmp_path)
    await node.start()
    yield node
    await node.end()


@pytest.fixture
async def alloc(node):
    alloc, job = make_work(SLEEP, driver="raw_exec", env={"GREETING": "hello"})
    node.host.add(alloc, job)
    await node.reach(alloc, ClientStatus.RUNNING)
    return alloc


def asked(alloc, *command, tty=False, task="web"):
    return {"AllocID": alloc.id, "Task": task, "Command": list(command), "Tty": tty}


def typed(text):
    return msgspec.json.encode({"stdin": {"data": text.encode()}})


CLOSE = b'{"stdin":{"close":true}}'


class Caller:
    """Says things, and remembers what it was told."""

    def __init__(self, frames):
        self.said = asyncio.Queue()
        self.told = {"stdout": "", "stderr": ""}
        self.closed, self.code = [], None
        self._frames = frames

    @classmethod
    def of(cls, node, body, sessions=None):
        caller = cls(None)
        sessions = sessions or ExecSessions(node.host)
        caller._frames = sessions.run(body, caller._say())
        return caller

    async def _say(self):
        while True:
            yield await self.said.get()

    def say(self, *frames):
        for frame in frames:
            self.said.put_nowait(frame)
        return self

    async def hear(self, *, until_told=None):
        async for frame in self._frames:
            code = exit_code_of(frame)
            if code is not None:
                self.code = code
                continue
            [(stream, told)] = msgspec.json.decode(frame).items()
            if told.get("close"):
                self.closed.append(stream)
            else:
                self.told[stream] += base64.b64decode(told["data"]).decode()
            if until_told is not None and until_told in self.told["stdout"]:
                break
        return self

    async def hang_up(self):
        await self._frames.aclose()


async def test_streams_stay_apart_and_the_exit_code_comes_last(node, alloc):
    script = "echo out $GREETING; echo err >&2; exit 7"
    caller = await Caller.of(node, asked(alloc, "sh", "-c", script)).hear()
    assert caller.told == {"stdout": "out hello\n", "stderr": "err\n"}
    assert caller.closed == ["stderr", "stdout"]
    assert caller.code == 7


async def test_a_caller_may_hear_that_the_command_runs_before_what_it_writes(node, alloc):
    frames = ExecSessions(node.host).run(
        {**asked(alloc, "echo", "there"), "TellsBegin": True}, nothing_given()
    )
    assert [frame async for frame in frames][:2] == [BEGUN, output("stdout", b"there\n")]


async def test_input_is_given_and_its_end_is_told(node, alloc):
    caller = Caller.of(node, asked(alloc, "cat"))
    caller.say(typed("one\n"), b"{}", typed("two\n"), CLOSE)
    await caller.hear()
    assert (caller.told["stdout"], caller.code) == ("one\ntwo\n", 0)


async def test_a_terminal_has_the_size_that_the_caller_told(node, alloc):
    script = "read x; stty size; echo ready"
    caller = Caller.of(node, asked(alloc, "sh", "-c", script, tty=True))
    caller.say(b'{"tty_size":{"height":33,"width":101}}', typed("\n"))
    await caller.hear(until_told="ready")
    assert "33 101" in caller.told["stdout"]


async def test_a_new_size_of_the_terminal_is_a_signal(node, alloc):
    script = "trap 'stty size; exit 3' WINCH; echo ready; while :; do sleep 0.05; done"
    caller = Caller.of(node, asked(alloc, "sh", "-c", script, tty=True))
    listening = asyncio.create_task(caller.hear())
    await until(lambda: "ready" in caller.told["stdout"])
    caller.say(b'{"tty_size":{"height":40,"width":120}}')
    await listening
    assert "40 120" in caller.told["stdout"]
    assert (caller.closed, caller.code) == (["stdout"], 3)


async def test_control_c_and_the_end_of_input_reach_the_command(node, alloc):
    interrupted = Caller.of(node, asked(alloc, "cat", tty=True)).say(typed("x\n"))
    listening = asyncio.create_task(interrupted.hear())
    # Once by the terminal, once by the command: a shell on its way to one may lose a signal.
    await until(lambda: interrupted.told["stdout"].count("x") == 2)
    await listening_after(interrupted, typed("\x03"), listening)
    assert interrupted.code == 130
    reader = await Caller.of(node, asked(alloc, "cat", tty=True)).say(CLOSE).hear()
    assert reader.code == 0


async def listening_after(caller, frame, listening):
    caller.say(frame)
    await listening


@pytest.mark.parametrize("tty", [False, True])
async def test_all_of_it_ends_when_the_caller_hangs_up(node, alloc, tty, tmp_path):
    script = f"sleep 601 & echo $! > {tmp_path}/pid; setsid sleep 602 & echo ready; exec sleep 603"
    caller = Caller.of(node, asked(alloc, "sh", "-c", script, tty=tty))
    await caller.hear(until_told="ready")
    pid = int((tmp_path / "pid").read_text())
    await caller.hang_up()
    assert start_time_of(pid) is None
    assert node.status(alloc) is ClientStatus.RUNNING


async def test_what_a_command_leaves_behind_ends_with_it(node, alloc, tmp_path):
    script = f"sleep 601 & echo $! > {tmp_path}/pid"
    caller = await Caller.of(node, asked(alloc, "sh", "-c", script)).hear()
    assert caller.code == 0
    assert start_time_of(int((tmp_path / "pid").read_text())) is None


async def test_it_ends_with_its_task(node, alloc):
    caller = Caller.of(node, asked(alloc, "sh", "-c", "echo ready; exec sleep 600"))
    listening = asyncio.create_task(caller.hear())
    await until(lambda: "ready" in caller.told["stdout"])
    node.host.restart(alloc.id, "web", all_tasks=False)
    await listening
    assert caller.code == 137


async def test_a_caller_who_takes_nothing_holds_the_command_up(node, alloc, tmp_path):
    script = f"for i in 1 2 3 4 5 6; do head -c 1000000 /dev/zero; echo $i > {tmp_path}/at; done"
    caller = Caller.of(node, asked(alloc, "sh", "-c", script))
    async with aclosing(caller._frames) as frames:
        await anext(frames)
        await asyncio.sleep(0.2)
        assert not (tmp_path / "at").exists()


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        ({"AllocID": "gone"}, 404, 'Unknown allocation "gone"'),
        ({"Task": ""}, 400, "must provide task name"),
        ({"Command": []}, 400, "command is not present"),
        ({"Task": "other"}, 400, 'unknown task name "other"'),
        (
            {"Command": ["/nonexist"]},
            500,
            "failed to start command: fork/exec /nonexist: no such file or directory",
        ),
    ],
)
async def test_what_cannot_be_run_is_said(node, alloc, body, status, text):
    with pytest.raises(AnswerRefused) as refused:
        await Caller.of(node, asked(alloc, "true") | body).hear()
    assert (refused.value.status, str(refused.value)) == (status, text)


async def test_beside_a_dead_task_nothing_runs(node, alloc):
    await node.host.drivers["raw_exec"].stop(node.host.entries[alloc.id].handles["web"], 0, "")
    await node.reach(alloc, ClientStatus.FAILED)
    with pytest.raises(AnswerRefused, match=r'^task "web" is not running\.$'):
        await Caller.of(node, asked(alloc, "true")).hear()


async def test_only_so_many_are_open_at_a_time_and_the_room_comes_back(node, alloc):
    sessions = ExecSessions(node.host, most=1)
    first = Caller.of(node, asked(alloc, "sh", "-c", "echo ready; cat"), sessions)
    await first.hear(until_told="ready")
    with pytest.raises(AnswerRefused, match="1 sessions are open") as refused:
        await Caller.of(node, asked(alloc, "true"), sessions).hear()
    assert refused.value.status == 429
    await first.hang_up()
    assert (await Caller.of(node, asked(alloc, "true"), sessions).hear()).code == 0


async def test_a_node_may_refuse_them_all(node, alloc):
    with pytest.raises(AnswerRefused, match="Permission denied"):
        await Caller.of(node, asked(alloc, "true"), ExecSessions(node.host, allowed=False)).hear()


async def test_nobody_says_nothing():
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await anext(nothing_given())
