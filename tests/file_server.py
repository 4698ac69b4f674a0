"""A server of files on this machine, and a git repository that it serves."""

import gzip
import http.server
import io
import os
import subprocess
import tarfile
import threading

import pytest


class Files(http.server.BaseHTTPRequestHandler):
    """Files of `server.files` by path; some paths do something of their own."""

    def do_GET(self):
        server = self.server
        path = self.path.partition("?")[0]
        server.asked.append((self.path, dict(self.headers)))
        if path.startswith("/to/"):
            self.send_response(302)
            self.send_header("Location", path.removeprefix("/to/").replace("|", "/"))
            self.end_headers()
            return
        content = server.files.get(path)
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(server.told.get(path, len(content))))
        self.end_headers()
        for start in range(0, len(content), 1024 * 1024):
            self.wfile.write(content[start : start + 1024 * 1024])
            if path in server.held:
                server.held[path].wait(30)

    def log_message(self, *_text):
        """Say nothing."""


@pytest.fixture
def served():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files)
    server.daemon_threads = True
    server.files, server.asked, server.told, server.held = {}, [], {}, {}
    server.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    for held in server.held.values():
        held.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def repository(served, tmp_path):
    """Two commits, a tag on the first; served as plain files. The address of it."""
    place = tmp_path / "origin"
    who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@x", "GIT_COMMITTER_NAME": "a"}
    who |= {"GIT_COMMITTER_EMAIL": "a@x", "GIT_CONFIG_GLOBAL": os.devnull}

    def git(*words):
        subprocess.run(["git", *words], cwd=place, env={**os.environ, **who}, check=True)

    place.mkdir()
    git("init", "-q", "-b", "main")
    (place / "bin").mkdir()
    (place / "bin" / "run").write_text("first\n")
    git("add", ".")
    git("commit", "-qm", "one")
    git("tag", "v1")
    (place / "bin" / "run").write_text("second\n")
    git("commit", "-qam", "two")
    git("update-server-info")
    for file in (place / ".git").rglob("*"):
        if file.is_file():
            served.files[f"/shop.git/{file.relative_to(place / '.git')}"] = file.read_bytes()
    return f"git::{served.url}/shop.git"


def tar_of(*members, packed=True):
    """A tar of `(name, content)`; a text stands for another type of member, to /etc/passwd."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name, content in members:
            entry = tarfile.TarInfo(name)
            if isinstance(content, bytes):
                entry.size, entry.mode = len(content), 0o6755
                archive.addfile(entry, io.BytesIO(content))
            else:
                entry.type, entry.linkname = content.encode(), "/etc/passwd"
                archive.addfile(entry)
    return gzip.compress(file.getvalue()) if packed else file.getvalue()
