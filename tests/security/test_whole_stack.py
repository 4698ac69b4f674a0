"""One real Bivouac: what it leaves lying around, and what forged messages do to it."""

import base64
import json
import os
import pickle
import re
import stat
import threading
import time
from pathlib import Path

import httpx
import msgspec
import pytest
import redis

from cluster.bench.stack import Stack
from cluster.runtime.clock import SystemClock
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.live
KEY = "canary-of-the-secret-key-0123456789abcdef0123456789abcdef"
ENV = "canary-of-a-task-environment"

OF_TASKS = "agent/alloc/"
END = "that is all"
CLOCK = SystemClock()


def task(name, **env):
    task = {
        "Name": "main", "Driver": "mock_driver", "Config": {"run_for": "600s"},
        "Env": env, "Resources": {"CPU": 20, "MemoryMB": 10},
    }  # fmt: skip
    return {"Job": {"ID": name, "TaskGroups": [{"Name": "g", "Count": 1, "Tasks": [task]}]}}


def run(client, name, **env):
    assert client.put("/v1/jobs", json=task(name, **env)).status_code == 200
    deadline = CLOCK.monotonic() + PATIENCE_S
    while CLOCK.monotonic() < deadline:
        allocs = client.get(f"/v1/job/{name}/allocations").json()
        if any(alloc["ClientStatus"] == "running" for alloc in allocs):
            return allocs[0]["ID"]
        time.sleep(0.1)
    raise AssertionError(f"{name} does not run: {allocs}")


class Monitor(threading.Thread):
    """Everything that passes through Redis while it runs."""

    def __init__(self, url):
        super().__init__(daemon=True)
        self.client = redis.Redis.from_url(url)
        self.seen = []
        self.ready = threading.Event()

    def run(self):
        with self.client.monitor() as monitor:
            self.ready.set()
            while not self.seen or END not in self.seen[-1]:
                self.seen.append(monitor.next_command()["command"])

    def stop(self):
        self.client.echo(END)
        self.join(5)
        self.client.close()
        return "\n".join(self.seen)


@pytest.fixture(scope="module")
def stack():
    environment = {"BIVOUAC_SECRET_KEY": KEY, "BIVOUAC_LOG_LEVEL": "DEBUG"}
    with Stack(agent=True, workers=1, environment=environment) as running:
        yield running


@pytest.fixture(scope="module")
def redis_url(stack):
    text = (stack.data_dir / "redis" / "redis.conf").read_text()
    port = re.search(r"^port (\d+)", text, re.MULTILINE)[1]
    password = re.search(r"^requirepass (\S+)", text, re.MULTILINE)[1]
    return f"redis://:{password}@127.0.0.1:{port}/0"


@pytest.fixture(scope="module")
def traffic(stack, redis_url):
    """What passed through Redis while a job with a secret in its environment was placed."""
    monitor = Monitor(redis_url)
    monitor.start()
    assert monitor.ready.wait(5)
    with stack.client() as client:
        run(client, "canary", CANARY=ENV)
    return monitor.stop()


def secrets_of(stack, redis_url):
    return {
        "API token": stack.token,
        "login link": stack.login_link.rpartition("/")[2],
        "join token": (stack.data_dir / "join-token").read_text().strip(),
        "node secret": (stack.data_dir / "agent" / "state" / "secret-id").read_text().strip(),
        "secret key": KEY,
        "password of Redis": redis_url.split(":")[2].split("@")[0],
    }


def test_files_are_their_owners_only(stack):
    open_to_others = {
        str(path.relative_to(stack.data_dir)): stat.filemode(path.lstat().st_mode)
        for path in stack.data_dir.rglob("*")
        if not path.is_symlink() and path.lstat().st_mode & 0o077
    }
    # Tasks may run as other users, who come through the directory above them all and see nothing.
    assert not stack.data_dir.stat().st_mode & 0o066
    own = {name for name in open_to_others if not f"{name}/".startswith(OF_TASKS)}
    assert own - {"agent"} == set()


def test_secrets_are_in_no_log_no_row_and_no_message(stack, redis_url, traffic):
    secrets = secrets_of(stack, redis_url)
    assert all(len(value) > 20 for value in secrets.values())
    with httpx.Client(base_url=stack.address, trust_env=False, follow_redirects=True) as browser:
        assert browser.get(stack.login_link).status_code == 200
        pages = "\n".join(
            browser.get(path).text
            for path in ("/", "/jobs/", "/nodes/", "/evaluations/", "/allocations/", "/admin/")
        )
    with stack.client() as client:
        node = client.get("/v1/nodes").json()[0]["ID"]
        answers = "\n".join(
            client.get(path).text
            for path in (
                "/v1/nodes?resources=true", f"/v1/node/{node}", "/v1/agent/self",
                "/v1/agent/members", "/v1/allocations", "/v1/evaluations", "/v1/regions",
            )
        )  # fmt: skip
        with client.stream("GET", "/v1/event/stream?index=1") as stream:
            frames = b""
            for chunk in stream.iter_bytes():
                frames += chunk
                if b'"AllocationUpdated' in frames or len(frames) > 20_000:
                    break
    logs = "\n".join(stack.log(file.stem) for file in (stack.data_dir / "logs").glob("*.log"))
    places = {
        "logs": logs, "messages": traffic, "pages": pages, "answers": answers,
        "events": frames.decode(),
        "record": "\n".join(
            file.read_bytes().decode("latin-1") for file in stack.data_dir.glob("state.sqlite3*")
        ),
    }  # fmt: skip
    assert all(places.values())
    leaks = {
        (secret, place)
        for secret, value in secrets.items()
        for place, text in places.items()
        if value in text
    }
    assert leaks == set()
    assert ENV not in logs
    celery = [line for line in traffic.splitlines() if "drain_evaluations" in line]
    assert celery
    assert not [line for line in celery if ENV in line]


def forged(file):
    """Requests to the leader, as somebody writes them who can write to Redis."""
    pack = msgspec.msgpack.encode
    nobody = "00000000-0000-0000-0000-000000000000"

    def request(kind, body, reply="reply:forger"):
        return pack([nobody + kind, kind, reply, body, 1])

    finish = {"eval_id": nobody, "token": nobody, "ack": True}
    yield from (b"", b"\xff\xfe", b"\xc1", b"[" * 10_000, b"{}", os.urandom(500))
    yield pickle.dumps(Touch(file))
    yield b"\x95\xa1x\xa5alive\xa1r" + b"\x91" * 200_000
    yield b"\x95\xa1\xff\xa5alive\xa1r\xc0\x00"
    yield request("alive", None)
    yield request("alive", {"process": 7})
    yield request("nothing", {})
    yield request("alive", {"process": "forger"}, "leader:in")
    yield request("alive", {"process": "forger"}, "evaluations")
    waits = {"process": "forger", "types": [], "limit": -1, "wait_s": float("nan")}
    yield request("dequeue", waits)
    waits |= {"types": ["nothing"], "version": 1}
    yield request("dequeue", waits)
    yield request("dequeue", waits | {"limit": 2**62, "wait_s": float("inf")})
    yield request("next_plans", {"process": "forger", "limit": -1, "wait_s": -1.0})
    yield request("finish", {"process": "forger", "request": finish})
    yield request("plan", {"process": "forger", "plan": {"id": nobody, "eval_id": nobody}})
    yield request("plans_done", {"process": "f", "outcomes": [{"plan_id": nobody, "error": "x"}]})


class Touch:
    """A pickle that makes a file when it is read."""

    def __init__(self, file):
        self.file = str(file)

    def __reduce__(self):
        return (Path.touch, (Path(self.file),))


def celery_messages(file):
    """Wake-ups that nobody sent: a pickle, an unknown task, arguments that the task has not."""
    body = base64.b64encode(pickle.dumps(((Touch(file),), {}, {}))).decode()
    json_body = base64.b64encode(json.dumps([["x"], {"canary": 1}, {}]).encode()).decode()
    drain = "cluster.runtime.worker_tasks.drain_evaluations"
    for task, content, text in (
        (drain, "application/x-python-serialize", body),
        ("os.system", "application/json", json_body),
        (drain, "application/json", json_body),
        (drain, "application/json", base64.b64encode(b"[").decode()),
    ):
        yield {
            "body": text, "content-encoding": "binary" if "pyth" in content else "utf-8",
            "content-type": content,
            "headers": {"lang": "py", "task": task, "id": "forged", "root_id": "forged",
                        "parent_id": None, "group": None, "retries": 0, "timelimit": [None, None],
                        "argsrepr": "()", "kwargsrepr": "{}", "origin": "forger"},
            "properties": {"correlation_id": "forged", "reply_to": "x", "delivery_mode": 2,
                           "delivery_info": {"exchange": "", "routing_key": "evaluations"},
                           "priority": 0, "body_encoding": "base64", "delivery_tag": "forged"},
        }  # fmt: skip


def test_forged_messages_write_nothing_and_nobody_dies_of_them(
    stack, redis_url, traffic, tmp_path
):
    made = tmp_path / "made-by-a-pickle"
    pids = dict(stack.pids)
    with redis.Redis.from_url(redis_url) as forger, stack.client() as client:
        for queue in ("evaluations", "plans"):
            for message in celery_messages(made):
                forger.lpush(queue, json.dumps(message))
        for message in forged(made):
            forger.rpush("leader:in", message)
        for channel in ("index", "steps"):
            for message in (b"", b"\xff", b"\xa1\xff", b"-1", b"9" * 400, b"\x91" * 200_000):
                forger.publish(channel, message)
        for process in forger.scan_iter("reply:[aw]*"):
            forger.rpush(process, b"\xff\xfe")
        began = client.get("/v1/evaluations").json()
        run(client, "after")
        assert len(client.get("/v1/evaluations").json()) == len(began) + 1
        answers = {
            msgspec.msgpack.decode(raw)[0][36:]: msgspec.msgpack.decode(raw)[3]
            for raw in forger.lrange("reply:forger", 0, -1)
        }
    assert not made.exists()
    assert answers["nothing"] == "unknown request 'nothing'"
    assert answers["finish"]
    assert answers["plan"]
    assert stack.pids == pids
    assert "was not understood" in stack.log("leader")
    assert "step_down" not in stack.log("leader")
    assert not [line for line in stack.lines if "restarting" in line]
