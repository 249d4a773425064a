"""Keeps the WebSocket to the master open until the worker stops.

  connecting ──open: register, ping──▶ greeting ──ping comes back──▶ open ──close──▶ waiting ──delay──▶ connecting
  close code 4000 ──▶ rejected permanently: the protocol versions do not match

The master rejects an invalid token only after the upgrade, with close code 4401 (D12), and does not confirm a register.
The worker therefore sends a ping after `register`, and the content of the outbox only when that ping comes back. The
reconnect delay is drawn from [d/2, d], with d = 1, 2, 4 … 30 s, and resets after 30 s of connection (G13). Retry-After
is a lower bound, up to 30 s (D68). 45 s without data count as a dead connection (G12). The token is read for each try.
"""

import asyncio
import contextlib
import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp

from .backoff import Backoff, monotonic, parse_retry_after, retry_after_delay, wait_for_event
from .limits import (
    CLOSE_ABNORMAL,
    CLOSE_INVALID_TOKEN,
    CLOSE_POLICY,
    CLOSE_PROTOCOL_VERSION,
    FEATURES,
    MAX_FRAME_BYTES,
    PROTOCOL_VERSION,
    RECONNECT_BASE_SECONDS,
    RECONNECT_CAP_SECONDS,
    SILENCE_SECONDS,
    to_json,
)
from .logs import Log
from .outbox import Outbox

_HANDSHAKE_SECONDS = 15.0
_GREETING_SECONDS = 2.0
_GOOD_AFTER_SECONDS = 30
_CLOSE_WITHIN_SECONDS = 2.0
_NORMAL_CLOSURE = 1000
_WORKER_ENDED = 4100


@dataclass(frozen=True)
class ChannelDeps:
    """What the channel uses and informs. `on_open` is called when the master has accepted this connection.

    `labels` are sent with `register`, but only to a master that knows the field (D136).
    """

    url: str
    token: Callable[[], str]
    register: Callable[[], dict[str, Any]]
    labels: Mapping[str, str]
    outbox: Outbox
    on_open: Callable[[], None]
    on_close: Callable[[], None]
    on_frame: Callable[[dict[str, Any]], None]
    on_rejected: Callable[[str], None]


class ControlChannel:
    """The control channel of one worker."""

    def __init__(self, log: Log, deps: ChannelDeps) -> None:
        self._log, self._deps = log, deps
        self._backoff = Backoff(RECONNECT_BASE_SECONDS, RECONNECT_CAP_SECONDS)
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._sender: asyncio.Task[None] | None = None
        self._opened_at: float | None = None
        self._retry_after = 0.0
        self._ended = asyncio.Event()
        self._closing_code = _NORMAL_CLOSURE
        self._background: set[asyncio.Task[Any]] = set()
        self.is_open = False
        self.features: frozenset[str] = frozenset()
        """What all live masters offered when the connection opened."""

    @property
    def age(self) -> float:
        """Seconds since this connection opened; 0 without a connection."""
        return 0.0 if self._opened_at is None else monotonic() - self._opened_at

    def reconnect(self, why: str) -> None:
        """Closes this connection. The next connection registers again (D7)."""
        if self.is_open and self._socket is not None:
            self._log.info("reconnecting the control channel", why=why)
            self._spawn(self._socket.close(code=_NORMAL_CLOSURE, message=b"registers again"))

    async def close(self, orderly: bool) -> None:
        """Closes the channel permanently. `orderly`: the process ends as it should, so its end is no failure (D142)."""
        self._ended.set()
        if orderly:
            self._closing_code = _WORKER_ENDED
        if self._socket is not None:
            # aiohttp ends the reader first, which closes the socket with the same code.
            await self._socket.close(code=self._closing_code, message=b"the worker stopped")

    async def run(self) -> None:
        """Connects again and again, until the channel is closed or rejected permanently."""
        timeout = aiohttp.ClientTimeout(total=None)
        async with aiohttp.ClientSession(timeout=timeout, cookie_jar=aiohttp.DummyCookieJar()) as session:
            while not self._ended.is_set():
                self._retry_after = 0.0
                code, reason = await self._connect(session)
                wait = self._closed(code, reason)
                await wait_for_event(self._ended, wait)

    async def _connect(self, session: aiohttp.ClientSession) -> tuple[int, str]:
        """Opens one connection and reads it to its end. Returns its close code and reason."""
        try:
            async with asyncio.timeout(_HANDSHAKE_SECONDS):
                socket = await session.ws_connect(
                    self._deps.url,
                    headers={"authorization": f"Bearer {self._deps.token()}", "muster-features": FEATURES},
                    timeout=aiohttp.ClientWSTimeout(ws_close=_CLOSE_WITHIN_SECONDS),
                    autoping=False,
                    max_msg_size=MAX_FRAME_BYTES,
                )
        except aiohttp.WSServerHandshakeError as error:
            self._handshake_rejected(error)
            return CLOSE_ABNORMAL, ""
        except (aiohttp.ClientError, OSError, ValueError, TimeoutError) as error:
            self._log.warn("control channel error", error=str(error) or type(error).__name__)
            return CLOSE_ABNORMAL, ""
        self._socket = socket
        offered = socket._response.headers.get("muster-features", "")
        self.features = frozenset(name.strip() for name in offered.split(","))
        try:
            return await self._read(socket)
        except (aiohttp.ClientError, OSError) as error:
            self._log.warn("control channel error", error=str(error) or type(error).__name__)
            return CLOSE_ABNORMAL, ""
        finally:
            self._socket = None
            self.features = frozenset()
            if self._sender is not None:
                self._sender.cancel()
                self._sender = None
            with contextlib.suppress(aiohttp.ClientError, OSError):
                await socket.close(code=self._closing_code)

    async def _read(self, socket: aiohttp.ClientWebSocketResponse) -> tuple[int, str]:
        greeting = str(uuid.uuid4())
        self._opened_at = monotonic()
        register = {"type": "register", "protocol_version": PROTOCOL_VERSION, **self._deps.register()}
        await socket.send_str(to_json({**register, **self._labels()}))
        await socket.send_str(to_json({"type": "ping", "id": greeting}))
        timer = asyncio.get_running_loop().call_later(_GREETING_SECONDS, self._greeted, socket)
        try:
            async with asyncio.timeout(SILENCE_SECONDS) as silence:
                while True:
                    message = await socket.receive()
                    silence.reschedule(monotonic() + SILENCE_SECONDS)
                    if message.type == aiohttp.WSMsgType.PING:
                        await socket.pong(message.data)
                    elif message.type == aiohttp.WSMsgType.CLOSE:
                        return int(message.data or CLOSE_ABNORMAL), str(message.extra or "")
                    elif message.type in (aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY):
                        if self._received(message) == greeting:
                            timer.cancel()
                            self._greeted(socket)
                    elif message.type != aiohttp.WSMsgType.PONG:  # Closing, closed or an error.
                        return socket.close_code or CLOSE_ABNORMAL, str(message.data or "")
        except TimeoutError:
            self._log.warn("no data from the master, closing the connection", silent_seconds=SILENCE_SECONDS)
            return CLOSE_ABNORMAL, "no data"
        finally:
            timer.cancel()

    def _labels(self) -> dict[str, Mapping[str, str]]:
        """Returns the field `labels` of `register`, if there are labels and the master knows the field."""
        if not self._deps.labels:
            return {}
        if "labels" in self.features:
            return {"labels": self._deps.labels}
        self._log.warn("the master is of a release that does not know worker labels: connecting without them")
        return {}

    def _greeted(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        if self.is_open or socket.closed:
            return
        self.is_open = True
        self._log.info("connected to the master", url=self._deps.url)
        self._sender = self._spawn(self._send(socket))
        self._deps.on_open()

    async def _send(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        with contextlib.suppress(aiohttp.ClientError, OSError):  # The reader notices a broken connection too.
            await self._deps.outbox.send_to(socket.send_str)

    def _received(self, message: aiohttp.WSMessage) -> str | None:
        """Passes on a frame. Returns the id of a ping."""
        try:
            frame = json.loads(message.data) if message.type == aiohttp.WSMsgType.TEXT else None
        except ValueError:
            frame = None
        if not isinstance(frame, dict) or not isinstance(frame.get("type"), str):
            self._log.warn("ignoring an invalid frame of the master; run the same release of master and worker")
            return None
        if frame["type"] == "ping":
            return str(frame.get("id"))
        self._deps.on_frame(frame)
        return None

    def _handshake_rejected(self, error: aiohttp.WSServerHandshakeError) -> None:
        self._retry_after = parse_retry_after(error.headers.get("retry-after") if error.headers else None)
        if error.status in (401, 403):
            self._token_rejected(f"HTTP {error.status}")
            return
        advice = {} if error.status >= 500 else {"advice": "check that SVC_MASTER_URL is the URL of the master"}
        self._log.warn("the master rejected the connection, retrying", status=error.status, **advice)

    def _token_rejected(self, how: str) -> None:
        self._log.error("the master rejected the worker token: correct SVC_WORKER_TOKEN or its file", how=how)

    def _closed(self, code: int, reason: str) -> float:
        """Returns the seconds until the next try."""
        if self.age >= _GOOD_AFTER_SECONDS:
            self._backoff.reset()
        self._opened_at = None
        if self.is_open:
            self.is_open = False
            self._deps.on_close()
        if self._ended.is_set():
            return 0.0
        if code == CLOSE_PROTOCOL_VERSION:
            self._ended.set()
            self._deps.on_rejected(
                f"the master does not support protocol version {PROTOCOL_VERSION} ({reason}); "
                "run the same release of master and worker"
            )
            return 0.0
        if code == CLOSE_INVALID_TOKEN:
            self._token_rejected(f"close code {code}")
        if code == CLOSE_POLICY and reason.startswith("replaced"):
            self._log.warn("another process registered with this ID: set a different SVC_WORKER_ID for each worker")
        wait = max(self._backoff.next_seconds(), retry_after_delay(self._retry_after))
        self._log.info("control channel closed", code=code, reason=reason, retry_in_ms=round(wait * 1_000))
        return wait

    def _spawn(self, work: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.ensure_future(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task
