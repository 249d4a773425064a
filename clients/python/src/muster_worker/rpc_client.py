"""Calls the master over HTTP: JSON-RPC 2.0 (D23, D60), single calls and batches, and GET for the config.

A call that the master rejects raises RpcError with the master's code. Without a readable response, it raises
`unavailable`. Reads are retried once when the connection broke. Every other retry is the decision of the caller.
"""

import asyncio
import contextlib
import itertools
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import aiohttp

from .backoff import RefusalLimiter, is_refusal, monotonic, parse_retry_after, retry_after_delay
from .errors import RpcError
from .limits import to_json
from .line_reader import LINES_TYPE, Tasks, read_lines

_CALL_SECONDS = 15.0
_STREAM_SECONDS = 40.0  # As long as a long poll.
_LINE_SECONDS = 25.0  # The master writes at least an empty line every 10 s.
_MAX_RESPONSE_BYTES = 32 * 1_048_576
_KEEP_ALIVE_SECONDS = 60
_READS = frozenset({"kv.get", "counter.get"})
_ERROR_NAMES = {
    -32700: "parse_error",
    -32600: "invalid_request",
    -32601: "method_not_found",
    -32602: "invalid_params",
    -32001: "lease_lost",
    -32002: "unknown_worker",
    -32003: "unavailable",
    -32004: "unknown_pool",
    -32005: "out_of_range",
}

T = TypeVar("T")


@dataclass(frozen=True)
class HttpResponse:
    """A whole response."""

    status: int
    headers: Mapping[str, str]
    text: str


class RpcClient:
    """`refusals` is shared by all clients of one worker. `connections` bounds the sockets; further calls wait."""

    def __init__(self, rpc_url: str, token: Callable[[], str], refusals: RefusalLimiter, connections: int) -> None:
        self._rpc_url, self._token, self._refusals = rpc_url, token, refusals
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=connections, keepalive_timeout=_KEEP_ALIVE_SECONDS),
            timeout=aiohttp.ClientTimeout(total=None),
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        self._ids = itertools.count(1)
        self._date = self._date_read_at = 0.0

    @property
    def served_at(self) -> float:
        """The time on the master's clock, in unix seconds: the `Date` of the last response plus its age, or 0."""
        return self._date + monotonic() - self._date_read_at if self._date > 0 else 0.0

    async def call(self, method: str, params: Mapping[str, Any], timeout: float = _CALL_SECONDS) -> Any:
        """Sends one call. Raises RpcError."""
        try:
            return await self._single(method, params, timeout)
        except RpcError as error:
            if method in _READS and error.data.get("broken"):
                return await self._single(method, params, timeout)
            raise

    async def batch(self, calls: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Any]:
        """Sends 1 to 1,000 calls. Returns the result of each, or its RpcError. Raises RpcError without a response."""
        requests = [self._request(method, params) for method, params in calls]
        body = await self._post(requests, _CALL_SECONDS)
        if not isinstance(body, list):
            _result_of(body)
            raise _no_response("the response to a batch is not a list")
        by_id = {each.get("id"): each for each in body if isinstance(each, dict)}
        return [_outcome_of(by_id.get(request["id"])) for request in requests]

    async def stream(
        self,
        params: Mapping[str, Any],
        on_tasks: Callable[[Tasks], None],
        on_alive: Callable[[], None],
        first_line_seconds: float,
    ) -> None:
        """Sends a reserve that streams. `on_tasks` is called with the tasks of each line, `on_alive` with the first.

        Returns when the stream has ended in order. Raises RpcError; with `is_silent` in its data if no line arrived
        within `first_line_seconds`, as behind a proxy that buffers responses.
        """
        silence, is_silent = asyncio.timeout(None), True

        def on_chunk() -> None:
            nonlocal is_silent
            if is_silent:
                is_silent = False
                on_alive()
            silence.reschedule(monotonic() + _LINE_SECONDS)

        async def read(response: aiohttp.ClientResponse) -> Any:
            if response.status == 200 and response.content_type == LINES_TYPE:
                return await read_lines(response.content.iter_any(), on_tasks, on_chunk)
            body = _body_of(HttpResponse(response.status, response.headers, await _text_of(response)))
            return body[0] if isinstance(body, list) and body else body  # A master that does not know lines.

        call = self._request("tasks.reserve", {**params, "stream": True})
        headers = {"content-type": "application/json", "accept": LINES_TYPE}
        try:
            data = to_json([call]).encode()
            wait = (silence, first_line_seconds)
            response = await self._exchange("POST", self._rpc_url, data, headers, _STREAM_SECONDS, read, wait)
        except RpcError as error:
            if not silence.expired():
                raise
            message = "no line of a stream arrived in time"
            raise RpcError("unavailable", message, {**error.data, "is_silent": is_silent}) from error
        on_tasks(_result_of(response)["tasks"])

    async def get(self, url: str, headers: Mapping[str, str]) -> HttpResponse:
        """Sends GET with the token. Raises RpcError `unavailable` without a response."""
        return await self._send("GET", url, None, headers, _CALL_SECONDS)

    async def close(self) -> None:
        """Closes all connections."""
        await self._session.close()

    def _request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}

    async def _single(self, method: str, params: Mapping[str, Any], timeout: float) -> Any:
        return _result_of(await self._post(self._request(method, params), timeout))

    async def _post(self, body: Any, timeout: float) -> Any:
        data = to_json(body).encode()
        return _body_of(await self._send("POST", self._rpc_url, data, {"content-type": "application/json"}, timeout))

    async def _send(
        self, method: str, url: str, data: bytes | None, headers: Mapping[str, str], timeout: float
    ) -> HttpResponse:
        async def read(response: aiohttp.ClientResponse) -> HttpResponse:
            return HttpResponse(response.status, response.headers, await _text_of(response))

        return await self._exchange(method, url, data, headers, timeout, read)

    async def _exchange(
        self,
        method: str,
        url: str,
        data: bytes | None,
        headers: Mapping[str, str],
        timeout: float,
        read: Callable[[aiohttp.ClientResponse], Awaitable[T]],
        silence: tuple[asyncio.Timeout, float] | None = None,
    ) -> T:
        """Sends one request and reads its response. The second of `silence` is what its timeout is set to then."""
        sent = False
        try:
            async with asyncio.timeout(timeout):
                await self._refusals.turn()
                sent = True
                headers = {**headers, "authorization": f"Bearer {self._token()}"}
                async with contextlib.AsyncExitStack() as stack:
                    if silence is not None:
                        await stack.enter_async_context(silence[0])
                        silence[0].reschedule(monotonic() + silence[1])
                    request = self._session.request(method, url, data=data, headers=headers, allow_redirects=False)
                    response = await stack.enter_async_context(request)
                    self._note(response.status, response.headers)
                    return await read(response)
        except TimeoutError as error:
            raise _unavailable(f"no response of the master within {timeout:g} s", sent=sent) from error
        except aiohttp.ClientConnectorError as error:
            raise _unavailable(f"no response from the master: {error}", sent=False) from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            broken = isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientOSError | OSError)
            message = f"no response from the master: {str(error) or type(error).__name__}"
            raise _unavailable(message, sent=True, broken=broken) from error

    def _note(self, status: int, headers: Mapping[str, str]) -> None:
        if is_refusal(status):
            self._refusals.refused(parse_retry_after(headers.get("retry-after")))
        else:
            self._refusals.served()
        try:
            self._date = parsedate_to_datetime(headers.get("date", "")).timestamp()
        except ValueError:
            self._date = 0.0
        self._date_read_at = monotonic()


async def _text_of(response: aiohttp.ClientResponse) -> str:
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > _MAX_RESPONSE_BYTES:
            response.close()
            raise ValueError(f"the response has more than {_MAX_RESPONSE_BYTES} bytes")
    return body.decode("utf-8", "replace")


def requested_delay(error: RpcError) -> float:
    """Returns the delay that the master requested, in seconds: with jitter, at most 30 s (D68)."""
    return retry_after_delay(float(error.data.get("retry_after_seconds", 0)))


def _result_of(response: Any) -> Any:
    outcome = _outcome_of(response)
    if isinstance(outcome, RpcError):
        raise outcome
    return outcome


def _outcome_of(response: Any) -> Any:
    if not isinstance(response, dict) or ("error" not in response and "result" not in response):
        return _no_response("the response of the master is not JSON-RPC, or lacks this call")
    if "error" not in response:
        return response["result"]
    error = response["error"] if isinstance(response["error"], dict) else {}
    data = error.get("data") if isinstance(error.get("data"), dict) else {}
    return RpcError(_ERROR_NAMES.get(error.get("code", 0), "unavailable"), str(error.get("message")), data)


def _body_of(response: HttpResponse) -> Any:
    if response.status != 200:
        raise _rejection(response)
    try:
        return json.loads(response.text)
    except ValueError as error:
        raise _no_response("the response of the master is not JSON") from error


def _rejection(response: HttpResponse) -> RpcError:
    hint = ": correct the worker token (SVC_WORKER_TOKEN or its file)" if response.status in (401, 403) else ""
    error = _unavailable(f"the master returned HTTP {response.status}{hint}", sent=response.status >= 500)
    error.data["status"] = response.status
    error.data["retry_after_seconds"] = parse_retry_after(response.headers.get("retry-after"))
    return error


def _no_response(message: str) -> RpcError:
    return RpcError("unavailable", message, {"outcome": "unknown"})


def _unavailable(message: str, *, sent: bool, broken: bool = False) -> RpcError:
    data = {"outcome": "unknown" if sent else "not_sent", "broken": broken}
    return RpcError("unavailable", message, data)
