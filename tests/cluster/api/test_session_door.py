"""Websockets into tasks: rights, refusals, frames, what the audit keeps; with a scripted agent."""

import asyncio
import json
from urllib.parse import urlencode

import pytest
from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.test import override_settings
from msgspec.structs import replace

from cluster import settings as whole_settings
from cluster.operations import session_socket
from cluster.operations.acl_tokens import put_new_token
from cluster.operations.agent_calls import LINKS, AgentRefused
from cluster.operations.session_frames import closed, exited, output
from cluster.operations.session_socket import FAULT, NORMAL, POLICY
from cluster.store.access import the_store
from cluster.store.audit import AuditFilter, read_audit
from cluster.store.tokens import new_secret
from scheduler.state.nouns import ACL_POLICIES
from scheduler.state.writes.jobs import write_job
from scheduler.structs.acl_policy import AclPolicy
from scheduler.structs.acl_token import AclToken, TokenType
from scheduler.structs.task_group import Action
from tests.builders import make_allocation, make_job, make_node, make_task, make_task_group
from tests.cluster.api.clients import NOW, put
from tests.cluster.api.test_client_proxy import agent_with

__all__ = ["agent_with"]
NODE = make_node(1).id
ALLOC = "bbbbbbbb-0000-0000-0000-000000000001"
EXEC = f"/v1/client/allocation/{ALLOC}/exec"
ACCESSOR = "aaaaaaaa-1111-1111-1111-000000000001"
ACTION = "/v1/job/web/action"
GREET = Action(name="greet", command="/bin/echo", args=("hello", "you"))


class TalkingAgent:
    """Says back what it is given, then ends when that ends."""

    def __init__(self):
        self.asked = None
        self.heard = []
        self.ended = asyncio.Event()

    async def call(self, node_id, verb, body, given=None):
        self.asked = (node_id, verb, body)
        try:
            yield output("stdout", b"ready")
            async for frame in given:
                self.heard.append(frame)
                if b"close" in frame:
                    break
            yield closed("stdout")
            yield exited(7)
        finally:
            self.ended.set()


@pytest.fixture
def placed(store):
    def fill(change):
        task = make_task(name="web", driver="exec", actions=(GREET,))
        raw = make_task(name="raw", driver="raw_exec", actions=(GREET,))
        job = write_job(change, make_job(task_groups=(make_task_group(tasks=(task, raw)),)))
        change.put_node(make_node(1))
        change.put_allocation(make_allocation(job, id=ALLOC, job_create_index=job.create_index))

    put(store, fill)
    return store


@pytest.fixture
def secret_of(store):
    """Makes a token with these capabilities in the default namespace."""

    async def make(*capabilities):
        rules = f'namespace "default" {{ capabilities = {json.dumps(capabilities)} }}'
        secret = new_secret()
        token = AclToken(
            accessor_id=ACCESSOR, name="shell", type=TokenType.CLIENT, policies=("shell",),
            create_time=NOW,
        )  # fmt: skip

        def work(change):
            change.put(ACL_POLICIES, AclPolicy(name="shell", rules=rules))
            put_new_token(change, token, secret)

        await asyncio.to_thread(put, store, work)
        return secret

    return make


def revoke_everything(store):
    def work(change):
        stored = change.get(ACL_POLICIES, "shell")
        change.put(ACL_POLICIES, replace(stored, rules="", modify_index=change.index))

    store.write(ACL_POLICIES.upserted, work, now=NOW)


@pytest.fixture
def agent():
    agent = TalkingAgent()
    LINKS.add((NODE,), agent)
    yield agent
    LINKS.remove(agent)


def socket_to(path, secret, *, origin=None, **query):
    # Made once, by whichever test comes first: for others with the middleware of pages.
    with override_settings(MIDDLEWARE=whole_settings.MIDDLEWARE):
        from cluster.asgi import application

    headers = [(b"x-nomad-token", secret.encode())] if secret else []
    headers += [(b"origin", origin.encode())] if origin else []
    return WebsocketCommunicator(application, f"{path}?{urlencode(query)}", headers)


def command(*words):
    return json.dumps(words)


async def close_of(socket):
    assert (await socket.connect())[0]
    return await end_of(socket)


async def end_of(socket):
    while (message := await socket.receive_output(5))["type"] != "websocket.close":
        pass
    await socket.disconnect()
    return message["code"], message["reason"]


async def audited(*acts):
    await asyncio.to_thread(the_store().audit.flush)
    rows = await the_store().acall(lambda: read_audit(the_store(), AuditFilter(), limit=50).rows)
    return [row for row in rows if row.act in acts]


async def test_frames_go_both_ways_until_the_command_ends(placed, agent, secret_of):
    secret = await secret_of("alloc-exec")
    socket = socket_to(EXEC, secret, task="web", tty="true", command=command("sh", "-c", "x y"))
    assert (await socket.connect())[0]
    assert await socket.receive_json_from(5) == {"stdout": {"data": "cmVhZHk="}}
    for frame in ("{}", '{"stdin":{"data":"aGk="}}', '{"stdin":{"close":true}}'):
        await socket.send_to(text_data=frame)
    assert await socket.receive_json_from(5) == {"stdout": {"close": True}}
    assert await socket.receive_json_from(5) == {"exited": True, "result": {"exit_code": 7}}
    assert await end_of(socket) == (NORMAL, "")
    assert agent.asked == (
        NODE,
        "exec",
        {
            "AllocID": ALLOC,
            "Task": "web",
            "Command": ["sh", "-c", "x y"],
            "Tty": True,
            "TellsBegin": False,
        },
    )
    assert agent.heard[1] == b'{"stdin":{"data":"aGk="}}'
    begun, over = sorted(await audited("run command", "end command"), key=lambda row: row.id)
    assert (begun.act, begun.target_id, begun.namespace) == ("run command", ALLOC, "default")
    assert begun.reason == "in task web: sh -c 'x y'"
    assert over.reason.startswith("exit code 7 after ")
    assert "aGk=" not in begun.reason + over.reason


async def test_hanging_up_ends_the_session_and_the_audit_says_so(placed, agent, secret_of):
    socket = socket_to(EXEC, await secret_of("alloc-exec"), task="web", command=command("sh"))
    assert (await socket.connect())[0]
    await socket.receive_json_from(5)
    await socket.disconnect()
    await asyncio.wait_for(agent.ended.wait(), 5)
    [over] = await audited("end command")
    assert over.reason.startswith("broken off after ")


@pytest.mark.parametrize(
    ("query", "code", "reason"),
    [
        ({}, POLICY, "must provide task name"),
        ({"task": "web"}, POLICY, "command is not present"),
        ({"task": "other", "command": '["sh"]'}, POLICY, 'unknown task name "other"'),
        (
            {"task": "web", "tty": "maybe"},
            FAULT,
            'tty value is not a boolean: strconv.ParseBool: parsing "maybe": invalid syntax',
        ),
        (
            {"task": "web", "command": "abc"},
            FAULT,
            "failed to marshal command into json: JSON is malformed: invalid character (byte 0)",
        ),
        ({"task": "raw", "command": '["sh"]'}, FAULT, "Permission denied"),
    ],
)
async def test_what_is_wrong_is_the_reason_of_the_close(
    placed, agent, secret_of, query, code, reason
):
    told = await close_of(socket_to(EXEC, await secret_of("alloc-exec"), **query))
    assert told == (code, reason)
    assert agent.asked is None


async def test_no_node_and_no_allocation(placed, secret_of):
    secret = await secret_of("alloc-exec")
    gone = EXEC.replace(ALLOC, "gone")
    assert await close_of(socket_to(gone, secret)) == (POLICY, 'Unknown allocation "gone"')
    asked = {"task": "web", "command": command("sh")}
    assert await close_of(socket_to(EXEC, secret, **asked)) == (POLICY, "No path to node")


@pytest.mark.parametrize(
    ("granted", "task", "allowed"),
    [
        (("read-job",), "web", False),
        (("alloc-node-exec",), "raw", False),
        (("alloc-exec",), "raw", False),
        (("alloc-exec",), "web", True),
        (("alloc-exec", "alloc-node-exec"), "raw", True),
    ],
)
@pytest.mark.parametrize("path", [EXEC, ACTION])
async def test_the_rights_that_it_asks_for(  # noqa: PLR0917 - the table's columns
    placed, agent, secret_of, granted, task, allowed, path
):
    query = {"task": task, "command": command("sh"), "allocID": ALLOC, "action": "greet"}
    socket = socket_to(path, await secret_of(*granted), **query)
    assert (await socket.connect())[0]
    if allowed:
        await socket.receive_json_from(5)
        await socket.disconnect()
        return
    assert await end_of(socket) == (FAULT, "Permission denied")
    [refused] = await audited("run action" if path == ACTION else "run command")
    assert (refused.result, "alloc-" in refused.missing_right) == ("refused", True)


@pytest.mark.parametrize("secret", ["", "00000000-0000-0000-0000-000000000000"])
async def test_nobody_and_a_wrong_token_get_nothing(placed, agent, secret):
    socket = socket_to(EXEC, secret, task="web", command=command("sh"))
    assert await close_of(socket) == (FAULT, "Permission denied")
    assert agent.asked is None


async def test_an_action_runs_its_own_command(placed, agent, secret_of):
    secret = await secret_of("alloc-exec")
    asked = {"task": "web", "allocID": ALLOC, "action": "greet", "command": command("rm", "-rf")}
    socket = socket_to(ACTION, secret, **asked)
    assert (await socket.connect())[0]
    await socket.receive_json_from(5)
    assert agent.asked[2]["Command"] == ["/bin/echo", "hello", "you"]
    await socket.disconnect()
    await asyncio.wait_for(agent.ended.wait(), 5)
    begun = await audited("run action")
    assert [row.reason for row in begun] == ["in task web: action greet"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"allocID": ""}, "missing AllocID"),
        ({"action": ""}, "command is not present"),
        ({"action": "x"}, "action x not found in task web"),
        ({"task": "x"}, f"task x not found in allocation {ALLOC}"),
        ({"namespace": "other"}, f"job web does not have allocation {ALLOC}"),
    ],
)
async def test_actions_that_are_not_there(placed, agent, secret_of, change, reason):
    asked = {"task": "web", "allocID": ALLOC, "action": "greet"} | change
    told = await close_of(socket_to(ACTION, await secret_of("alloc-exec"), **asked))
    assert told == (POLICY, reason)


@pytest.mark.parametrize(
    "frame",
    [
        "rubbish",
        "[]",
        '{"stdin":{"data":"%"}}',
        '{"tty_size":{"height":-1}}',
        "[" * 5000,
        "x" * 300_000,
    ],
)
async def test_rubbish_ends_the_session_with_a_reason(placed, agent, secret_of, frame):
    socket = socket_to(EXEC, await secret_of("alloc-exec"), task="web", command=command("sh"))
    assert (await socket.connect())[0]
    await socket.send_to(text_data=frame)
    code, reason = await end_of(socket)
    assert code == POLICY
    assert "frame" in reason
    assert len(reason) <= 120
    await asyncio.wait_for(agent.ended.wait(), 5)


async def test_the_first_message_may_carry_the_token(placed, agent, secret_of):
    secret = await secret_of("alloc-exec")
    asked = {"task": "web", "command": command("sh"), "ws_handshake": "true"}
    socket = socket_to(EXEC, "nonsense", **asked)
    assert (await socket.connect())[0]
    await socket.send_json_to({"version": 1, "auth_token": secret})
    assert await socket.receive_json_from(5) == {"stdout": {"data": "cmVhZHk="}}
    await socket.disconnect()
    socket = socket_to(EXEC, secret, **asked)
    assert (await socket.connect())[0]
    await socket.send_json_to({"version": 2, "auth_token": secret})
    assert await end_of(socket) == (POLICY, "unexpected handshake value: 2")


@pytest.mark.parametrize(
    ("problem", "code"),
    [(AgentRefused(404, 'task "web" is not running.'), POLICY), (AgentRefused(500, "no"), FAULT)],
)
async def test_a_refusal_of_the_agent_is_passed_on_and_kept(
    placed, agent_with, secret_of, problem, code
):
    agent_with(refusal=problem)
    socket = socket_to(EXEC, await secret_of("alloc-exec"), task="web", command=command("sh"))
    assert await close_of(socket) == (code, str(problem))
    assert {row.result for row in await audited("run command")} == {"done", "refused"}


async def test_a_session_ends_with_the_rights_it_was_opened_on(
    placed, agent, secret_of, monkeypatch
):
    monkeypatch.setattr(session_socket, "RECHECK_S", 0.02)
    secret = await secret_of("alloc-exec")
    socket = socket_to(EXEC, secret, task="web", command=command("sh"))
    assert (await socket.connect())[0]
    await socket.receive_json_from(5)
    await asyncio.to_thread(revoke_everything, placed)
    assert await end_of(socket) == (FAULT, "Permission denied")
    await asyncio.wait_for(agent.ended.wait(), 5)


async def test_a_page_of_somebody_else_gets_no_socket(placed, agent, secret_of):
    secret = await secret_of("alloc-exec")
    asked = {"task": "web", "command": command("sh")}
    foreign = socket_to(EXEC, secret, origin="https://evil.example", **asked)
    assert not (await foreign.connect())[0]
    own = socket_to(EXEC, secret, origin=settings.CSRF_TRUSTED_ORIGINS[0], **asked)
    assert (await own.connect())[0]
    await own.disconnect()
