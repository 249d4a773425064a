"""Reserves tasks for all batch slots with one long poll at a time, and hands them to waiting slots in order.

  take ─▶ waiting ◀── hand out ── result of tasks.reserve {limit: waiting + prefetch} ──▶ ready ──take──▶ slot
                                                         ready for 2 s, or more than can be prefetched ──▶ released

An empty response before the poll's timeout is followed by a pause, as is a failure. `stop` reserves nothing more, and
releases leases without a slot, including those of the last call.
"""

import asyncio
import uuid
from collections import deque
from collections.abc import Callable
from typing import Any

from .backoff import Backoff, monotonic, wait_for_event
from .config import Config
from .errors import RpcError
from .lease import HeldLease
from .leases import Leases
from .limits import MAX_RESERVED_PER_CALL
from .logs import Log
from .prefetch import Prefetch, max_prefetched
from .rpc_client import RpcClient, requested_delay
from .signals import StopSignal

_WAIT_SECONDS = 25.0  # Below the master's 30 s, so that the response is sent before a proxy closes the connection.
_CALL_SECONDS = _WAIT_SECONDS + 10
_EARLY_SECONDS = 1.0
_READY_SECONDS = 2.0

Waiter = asyncio.Future[HeldLease | None]


class TaskFeed:
    """Feeds the batch slots of a worker."""

    def __init__(
        self,
        log: Log,
        rpc: RpcClient,
        leases: Leases,
        config: Callable[[], Config],
        register_again: Callable[[str], None],
    ) -> None:
        self._log, self._rpc, self._leases, self._config = log, rpc, leases, config
        self._register_again = register_again
        self._pause = Backoff(0.2, 5.0)
        self._prefetch = Prefetch(monotonic())
        self._waiting: deque[Waiter] = deque()
        self._ready: deque[tuple[HeldLease, float]] = deque()
        self._slots = 0
        self._stopped = asyncio.Event()
        self._wanted = asyncio.Event()
        self._release_timer: asyncio.TimerHandle | None = None
        self._poll_id: str | None = str(uuid.uuid4())
        self._task = asyncio.create_task(self._run())

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
        self._wanted.set()
        if ready is not None:
            return ready
        waiter: Waiter = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        self._wanted.set()
        remove = stopping.listen(lambda _: self._leave(waiter))
        try:
            return await waiter
        finally:
            remove()

    async def stop(self, grace: float) -> None:
        """Stops reserving. A call in flight has `grace` seconds to return. Returns when it has ended."""
        self._stopped.set()
        self._wanted.set()
        while self._ready:
            self._ready.pop()[0].release()
        await asyncio.wait({self._task}, timeout=grace)
        self._task.cancel()
        await asyncio.wait({self._task})

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

    def _is_short(self) -> bool:
        depth = self._prefetch.depth(self._slots)
        return len(self._waiting) > 0 or (depth > 0 and len(self._ready) <= depth / 2)

    async def _run(self) -> None:
        while not self._stopped.is_set():
            if not self._is_short():
                await self._wanted.wait()
                self._wanted.clear()
                await asyncio.sleep(0)  # One limit counts all slots that become free at the same moment.
                continue
            pause = await self._reserve()
            if pause > 0:
                await wait_for_event(self._stopped, pause)

    async def _reserve(self) -> float:
        """Sends one reserve. Returns how long to wait before the next one."""
        wanted = len(self._waiting) + self._prefetch.depth(self._slots) - len(self._ready)
        limit = min(MAX_RESERVED_PER_CALL, max(1, wanted))
        params: dict[str, Any] = {"limit": limit, "wait_ms": int(_WAIT_SECONDS * 1_000)}
        if self._poll_id is not None:
            params["poll_id"] = self._poll_id  # The master recognises a poll whose connection was lost (D78).
        started = monotonic()
        try:
            tasks = (await self._rpc.call("tasks.reserve", params, _CALL_SECONDS))["tasks"]
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
        if self._stopped.is_set():
            return 0.0
        if error.code == "invalid_params" and self._poll_id is not None:
            self._poll_id = None  # A master that does not support it.
            return 0.0
        if error.code == "unknown_worker":
            self._register_again("the master has no record of this worker")
        wait = max(self._pause.next_seconds(), requested_delay(error))
        self._log.warn("failed to reserve tasks, retrying", error=str(error))
        return wait

    def _hand_out(self, tasks: list[dict[str, Any]]) -> None:
        for task in tasks:
            lease = self._leases.hold(task, self._config(), self._rpc.served_at)
            if self._stopped.is_set():
                lease.release()
            elif self._waiting:
                self._waiting.popleft().set_result(lease)
            elif len(self._ready) < max_prefetched(self._slots):
                self._ready.append((lease, monotonic()))
            else:
                lease.release()
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
