"""A container engine for machines without one: it answers as Docker's does, and runs processes.

What it cannot do is isolate: its containers are plain processes of the host. Answers, status codes
and the forms of bodies are those of Docker 20.10, recorded; `tests/live/test_containers.py`
asks a real one.
"""

import asyncio
import json
import os
import signal
import struct
from contextlib import suppress
from datetime import UTC, datetime

from aiohttp import web

from cluster.runtime.clock import SystemClock

SECOND = 1_000_000_000
IMAGE = "sha256:0123"
#: What its registry has; a pull of anything else is refused.
IN_REGISTRY = "registry.test/app:2"


class Refused(Exception):
    """What the engine says no with."""


@web.middleware
async def said_as_json(request, handler):
    try:
        return await handler(request)
    except Refused as refused:
        status, text = refused.args
        body = json.dumps({"message": text}).encode()
        return web.Response(status=status, body=body, content_type="application/json")


class FakeContainer:
    """One process and what it wrote."""

    def __init__(self, number, name, body):
        self.id = f"{number:064x}"
        self.name = name
        self.body = body
        self.created = SystemClock().now() / SECOND
        self.process = None
        self.status = "created"
        self.code = 0
        self.pieces = []
        self.news = asyncio.Event()
        self.over = asyncio.Event()
        self.work = []

    async def start(self):
        pipe = asyncio.subprocess.PIPE
        command = [*self.body.get("Entrypoint", []), *self.body.get("Cmd", [])]
        env = dict(pair.split("=", 1) for pair in self.body.get("Env", []))
        self.process = await asyncio.create_subprocess_exec(
            *command, env={"PATH": "/usr/bin:/bin", **env}, stdout=pipe, stderr=pipe
        )
        self.status = "running"
        copies = [
            asyncio.create_task(self._copy(1, self.process.stdout)),
            asyncio.create_task(self._copy(2, self.process.stderr)),
        ]
        self.work = [asyncio.create_task(self._end(copies))]

    def signal(self, number):
        """Not by asyncio's process, which would look whether it ended and take its code away."""
        with suppress(ProcessLookupError):
            os.kill(self.process.pid, number)

    async def _copy(self, stream, pipe):
        while line := await pipe.readline():
            now = SystemClock().now()
            whole = datetime.fromtimestamp(now // SECOND, UTC).strftime("%Y-%m-%dT%H:%M:%S")
            stamp = f"{whole}.{now % SECOND:09d}Z"
            self.pieces.append((now, stream, f"{stamp} ".encode() + line))
            self.news.set()

    async def _end(self, copies):
        await asyncio.gather(*copies)
        code = await self.process.wait()
        self.code = code if code >= 0 else 128 - code
        self.status = "exited"
        self.over.set()
        self.news.set()

    @property
    def facts(self):
        return {
            "Id": self.id,
            "Name": f"/{self.name}",
            "Config": {"Labels": self.body["Labels"], "Tty": False},
            "State": {
                "Status": self.status,
                "Running": self.status == "running",
                "Pid": self.process.pid if self.status == "running" else 0,
                "ExitCode": self.code,
                "OOMKilled": False,
            },
        }


class FakeEngine:
    """One engine at a socket."""

    def __init__(self, socket):
        self.socket = str(socket)
        self.containers = {}
        self.images = {"app:1"}
        #: What a name stands for, where it is not the image of all others.
        self.ids = {}
        self.pulls = 0
        self.number = 0
        #: Every body of a container that was asked for.
        self.asked = []
        self.runner = None

    async def __aenter__(self):
        app = web.Application(client_max_size=1 << 30, middlewares=[said_as_json])
        routes = [
            ("GET", "/version", self.version),
            ("GET", "/info", self.info),
            ("GET", "/containers/json", self.list),
            ("GET", "/{v}/images/{name:.+}/json", self.image),
            ("GET", "/images/{name:.+}/json", self.image),
            ("GET", "/{v}/images/json", self.list_images),
            ("DELETE", "/images/{name:.+}", self.delete_image),
            ("POST", "/{v}/images/create", self.pull),
            ("POST", "/{v}/images/load", self.load),
            ("POST", "/{v}/containers/create", self.create),
            ("GET", "/{v}/containers/{id}/json", self.show),
            ("POST", "/{v}/containers/{id}/start", self.start),
            ("POST", "/{v}/containers/{id}/wait", self.wait),
            ("POST", "/{v}/containers/{id}/stop", self.stop),
            ("POST", "/{v}/containers/{id}/kill", self.kill),
            ("GET", "/{v}/containers/{id}/logs", self.logs),
            ("DELETE", "/{v}/containers/{id}", self.delete),
            ("DELETE", "/containers/{id}", self.delete),
        ]
        for method, path, handler in routes:
            app.router.add_route(method, path, handler)
        self.runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self.runner.setup()
        await web.UnixSite(self.runner, self.socket).start()
        return self

    async def __aexit__(self, *_):
        for container in self.containers.values():
            if container.status == "running":
                container.signal(signal.SIGKILL)
            await asyncio.gather(*container.work)
        await self.runner.cleanup()

    def _found(self, request):
        wanted = request.match_info["id"]
        for container in self.containers.values():
            if wanted in (container.id, container.name):
                return container
        raise Refused(404, f"No such container: {wanted}")

    async def version(self, _request):
        return web.json_response({"ApiVersion": "1.41", "Version": "20.10"})

    async def info(self, _request):
        return web.json_response(
            {"ServerVersion": "20.10", "OSType": "linux", "Runtimes": {"runc": {}}}
        )

    async def list(self, request):
        (label,) = json.loads(request.query["filters"])["label"]
        name, _, value = label.partition("=")
        found = [
            {"Id": each.id, "Created": int(each.created), "Labels": each.body["Labels"]}
            for each in self.containers.values()
            if each.body["Labels"].get(name) == value
        ]
        return web.json_response(found)

    async def image(self, request):
        name = request.match_info["name"]
        named = sorted(each for each in self.images if self._id_of(each) == name)
        if name not in self.images and not named and name not in self.ids.values():
            raise Refused(404, f"No such image: {name}")
        found = self._id_of(name) if name in self.images else name
        return web.json_response({"Id": found, "RepoTags": named})

    def _id_of(self, name):
        return self.ids.get(name, IMAGE)

    async def list_images(self, _request):
        ids = {self._id_of(name) for name in self.images} | set(self.ids.values())
        return web.json_response([{"Id": each} for each in sorted(ids)])

    async def delete_image(self, request):
        name = request.match_info["name"]
        image = self._id_of(name) if name in self.images else name
        if any(each.body["Image"] == image for each in self.containers.values()):
            raise Refused(409, f"conflict: unable to delete {name}: a container is using it")
        self.images.discard(name)
        self.ids = {key: each for key, each in self.ids.items() if name not in (key, each)}
        return web.json_response([{"Untagged": name}])

    async def pull(self, request):
        if request.query.get("fromSrc") == "-":
            self.images.add(request.query["repo"])
            await request.read()
            return web.json_response({"status": IMAGE})
        self.pulls += 1
        name = request.query["fromImage"]
        if request.query.get("tag"):
            name += f":{request.query['tag']}"
        if name not in (IN_REGISTRY, "app:latest"):
            text = f"manifest for {name} not found: manifest unknown: manifest unknown"
            raise Refused(404, text)
        answer = web.StreamResponse(headers={"Content-Type": "application/json"})
        await answer.prepare(request)
        detail = {"current": 1 << 20, "total": 4 << 20}
        for line in (
            {"status": "Pulling from app", "id": "2"},
            {"status": "Waiting", "id": "b"},
            {"status": "Downloading", "id": "a", "progressDetail": detail},
            {"status": "Pull complete", "id": "a"},
        ):
            await answer.write(json.dumps(line).encode() + b"\r\n")
            await asyncio.sleep(0.02)
        self.images.add(name)
        self.ids[name] = f"sha256:{name}-{self.pulls}"
        return answer

    async def load(self, request):
        self.images.add((await request.read()).decode())
        return web.json_response({"stream": "Loaded image"})

    async def create(self, request):
        body = await request.json()
        self.asked.append(body)
        name = request.query["name"]
        if any(each.name == name for each in self.containers.values()):
            raise Refused(409, f'Conflict. The container name "/{name}" is already in use')
        self.number += 1
        container = FakeContainer(self.number, name, body)
        self.containers[container.id] = container
        return web.json_response({"Id": container.id, "Warnings": []}, status=201)

    async def show(self, request):
        return web.json_response(self._found(request).facts)

    async def start(self, request):
        try:
            await self._found(request).start()
        except FileNotFoundError as problem:
            text = f'exec: "{problem.filename}": executable file not found in $PATH'
            raise Refused(400, text) from problem
        return web.Response(status=204)

    async def wait(self, request):
        container = self._found(request)
        await container.over.wait()
        return web.json_response({"StatusCode": container.code})

    async def stop(self, request):
        container = self._found(request)
        if container.status != "running":
            return web.Response(status=304)
        container.signal(signal.SIGTERM)
        with suppress(TimeoutError):
            await asyncio.wait_for(container.over.wait(), float(request.query.get("t", 10)))
        if container.status == "running":
            container.signal(signal.SIGKILL)
            await container.over.wait()
        return web.Response(status=204)

    async def kill(self, request):
        container = self._found(request)
        if container.status != "running":
            raise Refused(409, f"Container {container.id} is not running")
        name = request.query.get("signal", "SIGKILL")
        number = getattr(signal, name if name.startswith("SIG") else f"SIG{name}", None)
        if number is None:
            raise Refused(400, f"Invalid signal: {name}")
        container.signal(number)
        return web.Response(status=204)

    async def logs(self, request):
        container = self._found(request)
        seconds, _, fraction = request.query.get("since", "0").partition(".")
        since = int(seconds) * SECOND + int(fraction or 0)
        answer = web.StreamResponse()
        await answer.prepare(request)
        sent = 0
        while True:
            container.news.clear()
            for at, stream, data in container.pieces[sent:]:
                sent += 1
                if at >= since:
                    await answer.write(struct.pack(">BxxxL", stream, len(data)) + data)
            if container.over.is_set():
                return answer
            await container.news.wait()

    async def delete(self, request):
        container = self._found(request)
        if container.status == "running":
            container.signal(signal.SIGKILL)
            await container.over.wait()
        self.containers.pop(container.id, None)
        return web.Response(status=204)
