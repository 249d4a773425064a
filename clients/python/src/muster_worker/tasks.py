"""Reserves tasks for all batch slots, and hands them to waiting slots in the order in which they called `take`.

  take ─▶ waiting ◀── hand out ── tasks of tasks.reserve {limit: waiting + prefetch} ──▶ ready ──take──▶ slot
                                                   ready for 2 s, or more than can be prefetched ──▶ released

If the master offers it, the reserve is a stream (D125): tasks arrive one by one, and the next stream replaces it when
less than half of the wanted tasks may still arrive. So a reserve always waits at the master. Otherwise it is a long
poll, and one is in flight at a time. Streams are not used for 10 minutes after none of their lines arrived within 5 s
(a proxy buffers responses), and for 60 s after a master rejected one. Until the first line of any stream has arrived,
a stream asks for one task, because such a proxy would keep its tasks.

An empty response before the poll's timeout is followed by a pause, as is a failure. `stop` reserves nothing more, and
releases leases without a slot, including those of the last call.
"""

import asyncio
import uuid
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from .backoff import Backoff, monotonic
from .config import Config
from .errors import RpcError
from .lease import HeldLease
from .leases import Leases
from .limits import MAX_RESERVED_PER_CALL
from .line_reader import Tasks
from .logs import Log
from .prefetch import Prefetch, max_prefetched
from .rpc_client import RpcClient, requested_delay
from .signals import StopSignal

_WAIT_SECONDS = 25.0  # Below the master's 30 s, so that the response is sent before a proxy closes the connection.
_CALL_SECONDS = _WAIT_SECONDS + 10
_EARLY_SECONDS = 1.0
_READY_SECONDS = 2.0
_FIRST_LINE_SECONDS = 5.0
_NO_STREAM_BEHIND_PROXY_SECONDS = 600.0
_NO_STREAM_SECONDS = 60.0

Waiter = asyncio.Future[HeldLease | None]


@dataclass
class _Stream:
    """`left`: how many of the `limit` tasks may still arrive."""

    limit: int
    left: int


class TaskFeed:
    """Feeds the batch slots of a worker. `offers` returns whether all live masters have a feature."""

    def __init__(
        self,
        log: Log,
        rpc: RpcClient,
        leases: Leases,
        config: Callable[[], Config],
        register_again: Callable[[str], None],
        offers: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._log, self._rpc, self._leases, self._config = log, rpc, leases, config
        self._register_again, self._offers = register_again, offers
        self._pause = Backoff(0.2, 5.0)
        self._prefetch = Prefetch(monotonic())
        self._waiting: deque[Waiter] = deque()
        self._ready: deque[tuple[HeldLease, float]] = deque()
        self._slots = 0
        self._stopped = False
        self._calls: set[asyncio.Task[float]] = set()
        self._next: asyncio.Handle | None = None
        self._stream: _Stream | None = None
        self._has_streamed = False
        self._no_stream_until = 0.0
        self._release_timer: asyncio.TimerHandle | None = None
        self._poll_id: str | None = str(uuid.uuid4())

    @property
    def is_reserving(self) -> bool:
        """Whether a reserve is under way, which may still bring tasks."""
        return bool(self._calls)

    def set_slots(self, slots: int) -> None:
        """Sets the number of slots to reserve for."""
        self._slots = slots
        while len(self._ready) > max_prefetched(slots):
            self._ready.pop()[0].release()

    async def take(self, stopping: StopSignal) -> HeldLease | None:
        """Returns the next task, or None when `stopping` is set before there is one."""
        if stopping.is_set:
            return None
        self._prefetch.taken()
        ready = self._next_ready()
        if ready is not None:
            self._schedule()
            return ready
        waiter: Waiter = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        self._schedule()
        remove = stopping.listen(lambda _: self._leave(waiter))
        try:
            return await waiter
        finally:
            remove()

    async def stop(self, grace: float) -> None:
        """Stops reserving. A call in flight has `grace` seconds to return. Returns when it has ended."""
        self._stopped = True
        if self._next is not None:
            self._next.cancel()
        while self._ready:
            self._ready.pop()[0].release()
        self._end_stream()
        calls = set(self._calls)
        if calls:
            await asyncio.wait(calls, timeout=grace)
            for call in calls:
                call.cancel()
            await asyncio.wait(calls)

    def _leave(self, waiter: Waiter) -> None:
        if not waiter.done():
            self._waiting.remove(waiter)
            waiter.set_result(None)

    def _next_ready(self) -> HeldLease | None:
        """Skips leases that waited too long: after a suspended process resumes, they may have expired."""
        while self._ready:
            lease, since = self._ready.popleft()
            if since > monotonic() - _READY_SECONDS and not lease.lost.is_set:
                return lease
            lease.release()
        return None

    def _schedule(self, pause: float = 0.0) -> None:
        """Reserves after everything that is ready now, so that one limit counts all slots that become free."""
        if self._stopped or self._next is not None or len(self._calls) > (0 if self._stream is None else 1):
            return
        loop = asyncio.get_running_loop()
        if pause > 0:
            self._next = loop.call_later(pause, self._start_reserve)
        elif self._is_short():
            self._next = loop.call_soon(self._start_reserve)

    def _start_reserve(self) -> None:
        self._next = None
        if self._is_short():
            may_stream = self._poll_id is not None and monotonic() >= self._no_stream_until and self._offers("stream")
            self._spawn(self._reserve_stream(self._new_stream()) if may_stream else self._reserve())

    def _new_stream(self) -> _Stream:
        """The new stream replaces the one before from now on."""
        limit = self._wanted if self._has_streamed else 1
        self._stream = _Stream(limit, limit)
        return self._stream

    def _spawn(self, call: Coroutine[Any, Any, float]) -> None:
        task = asyncio.create_task(call)
        self._calls.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, call: asyncio.Task[float]) -> None:
        self._calls.discard(call)
        if not call.cancelled():
            self._schedule(call.result())

    def _is_short(self) -> bool:
        depth = self._prefetch.depth(self._slots)
        is_short = len(self._waiting) > 0 or (depth > 0 and len(self._ready) <= depth / 2)
        return is_short and (self._stream is None or self._stream.left < self._wanted / 2)

    @property
    def _wanted(self) -> int:
        wanted = len(self._waiting) + self._prefetch.depth(self._slots) - len(self._ready)
        return min(MAX_RESERVED_PER_CALL, max(1, wanted))

    def _params(self, limit: int, wait: float) -> dict[str, Any]:
        params: dict[str, Any] = {"limit": limit, "wait_ms": int(wait * 1_000)}
        if self._poll_id is not None:
            params["poll_id"] = self._poll_id  # The master recognises a poll whose connection was lost (D78).
        return params

    async def _reserve_stream(self, stream: _Stream) -> float:
        """Opens a stream. Returns how long to wait before the next reserve."""
        limit, started = stream.limit, monotonic()

        def on_tasks(tasks: Tasks) -> None:
            if stream.left == limit and tasks:
                self._prefetch.record_response(monotonic(), monotonic() - started, full=len(tasks) >= limit)
            stream.left = max(0, stream.left - len(tasks))
            self._hand_out(tasks, is_estimate=True)
            self._schedule()

        def on_alive() -> None:
            self._has_streamed = True
            self._schedule()

        try:
            await self._rpc.stream(self._params(limit, _WAIT_SECONDS), on_tasks, on_alive, _FIRST_LINE_SECONDS)
        except (RpcError, TypeError, KeyError) as error:
            return self._stream_failed(error if isinstance(error, RpcError) else RpcError("unavailable", str(error)))
        else:
            if self._stream is stream and stream.left == limit and monotonic() - started < _EARLY_SECONDS:
                return self._pause.next_seconds()
            self._pause.reset()
            return 0.0
        finally:
            if self._stream is stream:
                self._stream = None

    def _stream_failed(self, error: RpcError) -> float:
        if error.data.get("is_silent"):
            self._log.warn(
                "streams of tasks do not arrive, using long polls for 10 minutes: a proxy may buffer responses"
            )
            self._no_stream_until = monotonic() + _NO_STREAM_BEHIND_PROXY_SECONDS
            return 0.0
        if error.code != "invalid_params":
            return self._failed(error)
        self._no_stream_until = monotonic() + _NO_STREAM_SECONDS
        return 0.0

    def _end_stream(self) -> None:
        """Ends the open stream with a poll that replaces it and does not wait."""
        if self._stream is not None:
            self._stream = None
            self._spawn(self._reserve(limit=1, wait=0.0))

    async def _reserve(self, limit: int | None = None, wait: float = _WAIT_SECONDS) -> float:
        """Sends one long poll. Returns how long to wait before the next reserve."""
        limit = self._wanted if limit is None else limit
        started = monotonic()
        try:
            tasks = (await self._rpc.call("tasks.reserve", self._params(limit, wait), _CALL_SECONDS))["tasks"]
        except (RpcError, TypeError, KeyError) as error:
            return self._failed(error if isinstance(error, RpcError) else RpcError("unavailable", str(error)))
        took = monotonic() - started
        self._prefetch.record_response(monotonic(), took, full=len(tasks) >= limit)
        self._hand_out(tasks)
        if not tasks and took < _EARLY_SECONDS:
            return self._pause.next_seconds()
        self._pause.reset()
        return 0.0

    def _failed(self, error: RpcError) -> float:
        if self._stopped:
            return 0.0
        if error.code == "invalid_params" and self._poll_id is not None:
            self._poll_id = None  # A master that does not support it.
            return 0.0
        if error.code == "unknown_worker":
            self._register_again("the master has no record of this worker")
        wait = max(self._pause.next_seconds(), requested_delay(error))
        self._log.warn("failed to reserve tasks, retrying", error=str(error))
        return wait

    def _hand_out(self, tasks: Tasks, *, is_estimate: bool = False) -> None:
        is_too_many = False
        for task in tasks:
            lease = self._leases.hold(task, self._config(), self._rpc.served_at, is_estimate=is_estimate)
            if self._stopped:
                lease.release()
            elif self._waiting:
                self._waiting.popleft().set_result(lease)
            elif len(self._ready) < max_prefetched(self._slots):
                self._ready.append((lease, monotonic()))
            else:
                lease.release()
                is_too_many = True
        if is_too_many:
            self._end_stream()  # There are fewer slots than when it was opened.
        self._watch_ready()

    def _watch_ready(self) -> None:
        if self._release_timer is None and self._ready:
            wait = self._ready[0][1] + _READY_SECONDS - monotonic()
            self._release_timer = asyncio.get_running_loop().call_later(wait, self._release_old)

    def _release_old(self) -> None:
        self._release_timer = None
        while self._ready and self._ready[0][1] <= monotonic() - _READY_SECONDS:
            self._ready.popleft()[0].release()
        self._watch_ready()
