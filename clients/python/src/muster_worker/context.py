"""Defines what every run receives. A call after the end of its run is rejected, and its locks and claims are released.

A coroutine gets a Context, whose calls are awaited; a stop cancels it, and `why` has the reason. A plain function runs
in a thread and gets a BlockingContext with the same names, whose calls block; a stop sets `cancelled`, and `sleep`
raises.
"""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import isasyncgen, iscoroutine
from typing import Any

from .auto_renewed_lease import AutoRenewedLease, Claim, LeaseCalls, Lock, hold_ms
from .backoff import monotonic
from .bus import BusClient
from .config import Config
from .errors import LeaseLost, StopReason
from .lease import HeldLease
from .logs import Log
from .mask import Masker
from .plugin_calls import PluginCalls
from .slot_records import Metrics

_MAX_POOL_ITEMS = 1_000


@dataclass(frozen=True)
class RunDeps:
    """The environment of the runs of one slot. `emit` buffers an output of the slot and of the task of its run."""

    slot_id: int
    log: Log
    masker: Masker
    metrics: Metrics
    rpc: PluginCalls
    bus: BusClient
    config: Callable[[], Config]
    emit: Callable[[int, Mapping[str, Any], str | None], None]


class _Scope:
    """The state of one run: whether it has ended, and its locks and claims. `task_id` exists in a batch run only."""

    def __init__(self, deps: RunDeps, task_id: str | None) -> None:
        self.deps, self.task_id = deps, task_id
        self.log = deps.log.through(deps.masker.value)
        self.ended = False
        self._held: set[AutoRenewedLease] = set()
        self._releases: set[asyncio.Task[None]] = set()

    def check(self) -> None:
        """Raises when the run has ended."""
        if self.ended:
            raise RuntimeError("the run has ended; await every call before you return")

    async def call(self, method: str, params: dict[str, Any]) -> Any:
        """A call by the run."""
        self.check()
        return await self.deps.rpc.call(method, params)

    def hold(self, kind: type[Any], what: str, prefix: str, key: dict[str, Any], hold: float, sent_at: float) -> Any:
        """Tracks a lock or claim until the run ends."""
        calls = LeaseCalls(what, prefix, key, self.deps.rpc.call)
        held = kind(calls, hold, sent_at, self.log, self._held.discard)
        self._held.add(held)
        if self.ended:  # It was granted after the end.
            self._dispose(held)
        return held

    def end(self) -> None:
        """Ends the run."""
        self.ended = True
        for held in list(self._held):
            self._dispose(held)

    def _dispose(self, held: AutoRenewedLease) -> None:
        task = asyncio.create_task(held.dispose())
        self._releases.add(task)
        task.add_done_callback(self._releases.discard)


class KeyValueStore:
    """Key-value store shared by all workers of the type."""

    def __init__(self, scope: _Scope) -> None:
        self._scope = scope

    async def get(self, key: str) -> Any:
        """Returns the value; None for an unknown or expired key."""
        return (await self._scope.call("kv.get", {"key": key}))["value"]

    async def set(self, key: str, value: Any, *, ttl_seconds: float | None = None) -> None:
        """Stores any JSON value of up to 256 KiB. Without `ttl_seconds`, the key does not expire."""
        ttl = {} if ttl_seconds is None else {"ttl_ms": round(ttl_seconds * 1_000)}
        await self._scope.call("kv.set", {"key": key, "value": value, **ttl})

    async def delete(self, key: str) -> None:
        """Deletes a value; does nothing for an unknown key."""
        await self._scope.call("kv.delete", {"key": key})


class Locks:
    """Locks shared by all workers of the type."""

    def __init__(self, scope: _Scope) -> None:
        self._scope = scope

    async def acquire(self, name: str, *, hold_seconds: float) -> Lock | None:
        """Acquires a lock if it is free; does not wait. Returns None while a run has it, this one included."""
        sent_at = monotonic()
        response = await self._scope.call("lock.acquire", {"name": name, "hold_ms": hold_ms(hold_seconds)})
        if not response["acquired"]:
            return None
        key = {"name": name, "token": response["token"]}
        lock: Lock = self._scope.hold(Lock, f'lock "{name}"', "lock", key, hold_seconds, sent_at)
        return lock


class Counters:
    """Integer counters shared by all workers of the type."""

    def __init__(self, scope: _Scope) -> None:
        self._scope = scope

    async def add(self, name: str, n: int) -> int:
        """Adds to a counter and returns the new value. Not safe to repeat after an error `unavailable`."""
        return int((await self._scope.call("counter.add", {"name": name, "delta": n}))["value"])

    async def get(self, name: str) -> int:
        """Returns the value; 0 for an unknown counter."""
        return int((await self._scope.call("counter.get", {"name": name}))["value"])


class Pool:
    """A pool of items shared by all workers. The automation must declare it."""

    def __init__(self, scope: _Scope, name: str) -> None:
        self._scope, self._name = scope, name

    async def put(self, items: Sequence[Mapping[str, Any]]) -> None:
        """Adds items `{"id": …, "payload": {…}, "tags": {…}}`, and replaces those with the same id."""
        rows = [{"tags": {}, **item} for item in items]
        for start in range(0, len(rows), _MAX_POOL_ITEMS):
            await self._scope.call("pool.put", {"pool": self._name, "items": rows[start : start + _MAX_POOL_ITEMS]})

    async def claim(
        self, *, hold_seconds: float, match: Mapping[str, str | float | bool] | None = None
    ) -> Claim | None:
        """Claims the free item with all tags of `match` that was used least recently; None when there is none."""
        sent_at = monotonic()
        params = {"pool": self._name, "hold_ms": hold_ms(hold_seconds), **({} if match is None else {"match": match})}
        task = {} if self._scope.task_id is None else {"task_id": self._scope.task_id}
        params = {**params, "slot_id": self._scope.deps.slot_id, **task}
        claims = (await self._scope.call("pool.claim", params))["claims"]
        if not claims:
            return None
        item = claims[0]
        key = {"pool": self._name, "id": item["id"], "token": item["token"]}
        what = f'item "{item["id"]}" of pool "{self._name}"'
        claim: Claim = self._scope.hold(Claim, what, "pool", key, hold_seconds, sent_at)
        claim.id, claim.payload, claim.tags = item["id"], item["payload"], item["tags"]
        return claim


class Bus:
    """Publish/subscribe without storage. Requires a store with a bus (Redis)."""

    def __init__(self, scope: _Scope) -> None:
        self._scope = scope

    async def publish(self, topic: str, message: Any) -> None:
        """Publishes any JSON value of up to 64 KiB to the current subscribers."""
        await self._scope.call("bus.publish", {"topic": topic, "message": message})

    async def subscribe(self, topic: str) -> AsyncIterator[Any]:
        """Yields the messages on a topic until the iteration is left. Keeps the newest 1,000 unread messages."""
        self._scope.check()
        messages = self._scope.deps.bus.subscribe(topic)
        async for message in messages:
            yield message


class Task:
    """The task of a batch run. `attempt` is the number of failed attempts before this one.

    `group_key` is the group of the task; None if it has none. `last_progress` is what an earlier run of the task
    reported last; None if none did.
    """

    def __init__(self, scope: _Scope, lease: HeldLease) -> None:
        self.id, self.payload, self.attempt = lease.id, lease.payload, lease.attempt
        self.labels, self.group_key, self.last_progress = lease.labels, lease.group_key, lease.last_progress
        self._scope, self._lease = scope, lease

    async def extend(self) -> None:
        """Extends the lease now; the worker also does so by itself. Raises LeaseLost."""
        self._scope.check()
        if self._lease.lost.is_set:
            raise LeaseLost(f"task {self.id} was lost")
        await self._lease.extend()

    async def progress(self, value: object) -> None:
        """Reports how far the run is: any JSON of at most 1 KiB. It is sent within a second; this does not wait for it.

        The next run of the task gets the newest value if this one fails.
        """
        self._scope.check()
        self._lease.report(value)


class Context:
    """What a coroutine receives. `task` exists in a batch run only."""

    task: Task

    def __init__(self, deps: RunDeps, lease: HeldLease | None) -> None:
        scope = _Scope(deps, None if lease is None else lease.id)
        self._scope, self._lease = scope, lease
        if lease is not None:
            self.task = Task(scope, lease)
        self.slot_id = deps.slot_id
        self.log = scope.log
        self.metrics = deps.metrics
        self.kv, self.lock, self.counter, self.bus = KeyValueStore(scope), Locks(scope), Counters(scope), Bus(scope)
        self.why: StopReason | None = None
        """Why the run was stopped; None while it was not."""

    @property
    def config(self) -> Config:
        """The read-only config. A batch run keeps that of its reserve; a continuous run reads the newest."""
        if self._lease is not None:
            return self._lease.config
        config = self._scope.deps.config()
        self._scope.deps.masker.see(config)
        return config

    async def emit(self, output: Mapping[str, Any]) -> None:
        """Buffers an output, at most 1 MiB, for the stream of the type. The master stores it later."""
        self._scope.check()
        if not isinstance(output, Mapping):
            raise TypeError("emit takes a mapping")
        self._scope.deps.emit(self.slot_id, output, self._scope.task_id)

    def pool(self, name: str) -> Pool:
        """Returns a pool of the automation; sends nothing."""
        return Pool(self._scope, name)

    async def sleep(self, seconds: float) -> None:
        """Waits. A stop cancels it."""
        await asyncio.sleep(seconds)

    def now(self) -> float:
        """Returns the current time in seconds since 1970."""
        return time.time()

    def end(self) -> None:
        """Called by the worker when the run has ended."""
        self._scope.end()


class _Blocking:
    """Wraps an object so that its coroutines block the thread that calls them."""

    def __init__(self, target: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._target, self._loop = target, loop

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._target, name)
        return self._call(value) if callable(value) else self._wrap(value)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self._wait(self._target.dispose())

    def _call(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            result = function(*args, **kwargs)
            if isasyncgen(result):
                raise TypeError("bus.subscribe needs a coroutine: write the run as `async def`")
            return self._wrap(self._wait(result) if iscoroutine(result) else result)

        return call

    def _wait(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _wrap(self, value: Any) -> Any:
        blocks = isinstance(value, Task | KeyValueStore | Locks | Counters | Pool | Bus | AutoRenewedLease)
        return _Blocking(value, self._loop) if blocks else value


class BlockingContext(_Blocking):
    """What a plain function receives in its thread: the names of Context, with calls that block."""

    def __init__(self, context: Context, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(context, loop)
        self.cancelled = threading.Event()
        """Set when the run has to stop; `why` has the reason."""

    def sleep(self, seconds: float) -> None:
        """Waits. Raises CancelledError when the run is stopped."""
        if self.cancelled.wait(seconds):
            raise asyncio.CancelledError(f"the run was stopped: {self._target.why}")
