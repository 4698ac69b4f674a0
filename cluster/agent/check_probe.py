"""One probe of a service: a TCP connection, or an HTTP request.

In: a planned check. Out: what was found; nothing is raised. Redirects are followed, proxies of the
environment are not used.
"""

import asyncio
import contextlib

import aiohttp
from yarl import URL

from cluster.agent.check_state import LONGEST_OUTPUT, CheckOutcome, CheckStatus
from cluster.agent.services import PlannedCheck
from cluster.jobspec.durations import duration_text

_SECOND = 1_000_000_000
#: Beside the check's own timeout, which is never longer.
_LONGEST_S = 600.0
#: Of answers: the one that needs no words, and the first that is a failure.
_OK, _FIRST_BAD = 200, 400


class Prober:
    """Holds what probes share: the trust in certificates, made when it is first needed."""

    def __init__(self) -> None:
        self._sessions: dict[bool, aiohttp.ClientSession] = {}

    async def probe(self, planned: PlannedCheck) -> CheckOutcome:
        """What the target answers within the check's timeout."""
        if not planned.address:
            return _failed("the check has no address: see the events of the allocation")
        seconds = planned.check.timeout / _SECOND
        work = self._http(planned) if planned.check.type == "http" else _tcp(planned)
        try:
            return await asyncio.wait_for(work, timeout=seconds)
        except TimeoutError:
            return _failed(f"no answer within {duration_text(planned.check.timeout)}")
        except (OSError, aiohttp.ClientError, ValueError) as problem:
            return _failed(f"{_target(planned)}: {_said(problem)}")

    async def close(self) -> None:
        """Let go of the connections."""
        for session in self._sessions.values():
            await session.close()

    async def _http(self, planned: PlannedCheck) -> CheckOutcome:
        check = planned.check
        path = check.path if check.path.startswith("/") else f"/{check.path}"
        url = URL(f"{check.protocol or 'http'}://{_target(planned)}{path}", encoded=True)
        headers = [(name, value) for name, values in check.header.items() for value in values]
        session = self._session(trusts_anybody=check.tls_skip_verify)
        async with session.request(
            check.method.upper() or "GET", url, headers=headers, data=check.body or None
        ) as answer:
            text = await _beginning(answer.content)
        code = answer.status
        status = CheckStatus.SUCCESS if code < _FIRST_BAD else CheckStatus.FAILURE
        told = "nomad: http ok" if code == _OK else text
        return CheckOutcome(status=status, output=told, status_code=code)

    def _session(self, *, trusts_anybody: bool) -> aiohttp.ClientSession:
        session = self._sessions.get(trusts_anybody)
        if session is None:
            session = self._sessions[trusts_anybody] = aiohttp.ClientSession(
                # A service that is down must be seen to be: no connection is kept. Not to look at
                # certificates is what the job's author asks for by `tls_skip_verify`.
                connector=aiohttp.TCPConnector(
                    force_close=True, limit=0, use_dns_cache=False, ssl=not trusts_anybody
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"User-Agent": "Bivouac check"},
                timeout=aiohttp.ClientTimeout(total=_LONGEST_S),
                trust_env=False,
            )
        return session


async def _beginning(content: aiohttp.StreamReader) -> str:
    """As much of the body as is kept."""
    found = b""
    async for piece in content.iter_any():
        found += piece
        if len(found) >= LONGEST_OUTPUT:
            break
    return found[:LONGEST_OUTPUT].decode("utf-8", "replace")


async def _tcp(planned: PlannedCheck) -> CheckOutcome:
    _, writer = await asyncio.open_connection(planned.address, planned.port)
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return CheckOutcome(status=CheckStatus.SUCCESS, output="nomad: tcp ok")


def _target(planned: PlannedCheck) -> str:
    address = f"[{planned.address}]" if ":" in planned.address else planned.address
    return f"{address}:{planned.port}"


def _failed(text: str) -> CheckOutcome:
    return CheckOutcome(status=CheckStatus.FAILURE, output=text[:LONGEST_OUTPUT])


def _said(problem: Exception) -> str:
    """Why, without the address, which is told already."""
    why = problem.os_error if isinstance(problem, aiohttp.ClientConnectorError) else problem
    return str(why) or type(problem).__name__
