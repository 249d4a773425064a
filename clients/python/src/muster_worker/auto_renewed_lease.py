"""Keeps a lock or pool claim of a run: renews it at each third of its hold time, until it is released or lost.

The hold time is counted from before the call was sent, so the lease never appears to be held after the master ended it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from .backoff import monotonic
from .errors import LeaseLost, RpcError
from .limits import MAX_HOLD_SECONDS, MIN_HOLD_SECONDS
from .logs import Log

Call = Callable[[str, dict[str, Any]], Awaitable[Any]]


@dataclass(frozen=True)
class LeaseCalls:
    """How a lease is extended and released: the method prefix and the params that identify it."""

    what: str
    prefix: str
    key: dict[str, Any]
    send: Call


def hold_ms(hold_seconds: float) -> int:
    """Returns the hold time in milliseconds. Raises ValueError when it is out of range."""
    if not MIN_HOLD_SECONDS <= hold_seconds <= MAX_HOLD_SECONDS:
        raise ValueError(f"hold_seconds must be {MIN_HOLD_SECONDS} to {MAX_HOLD_SECONDS}, got {hold_seconds}")
    return round(hold_seconds * 1_000)


class AutoRenewedLease:
    """A lock, or the base of a claim. Use it as `async with`, or call `release`."""

    def __init__(
        self, calls: LeaseCalls, hold_seconds: float, sent_at: float, log: Log, on_end: Callable[[Any], None]
    ) -> None:
        self._calls, self._hold, self._log, self._on_end = calls, hold_seconds, log, on_end
        self._ends_at = sent_at + hold_seconds
        self._state = "held"
        self.token: int = calls.key["token"]
        self._renewal = asyncio.create_task(self._renew())

    async def extend(self, hold_seconds: float) -> None:
        """Extends the lease by `hold_seconds` from now. Raises LeaseLost, or RpcError when it may still be held."""
        self._assert_held()
        sent_at = monotonic()
        await self._call("extend", {"hold_ms": hold_ms(hold_seconds)})
        self._hold, self._ends_at = hold_seconds, sent_at + hold_seconds

    async def release(self) -> None:
        """Releases the lease; a second call does nothing. Raises LeaseLost when it was lost before."""
        await self._release("release")

    async def dispose(self) -> None:
        """Releases the lease if it is held. Logs a failure: the work is already done, and the lease expires."""
        try:
            if self._state == "held":
                await self.release()
        except (LeaseLost, RpcError) as error:
            self._log.warn(f"{self._calls.what} could not be released; it expires", error=str(error))

    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.dispose()

    async def _release(self, method: str) -> None:
        if self._state == "released":
            return
        self._assert_held()
        self._end("released")
        await self._call(method, {})

    async def _renew(self) -> None:
        while not self._has_ended():
            await asyncio.sleep(max(0.0, min(self._hold / 3, self._ends_at - monotonic())))
            if self._has_ended():
                return
            try:
                await self.extend(self._hold)
            except (LeaseLost, RpcError) as error:
                self._log.debug(f"{self._calls.what} could not be renewed yet", error=str(error))

    async def _call(self, method: str, more: dict[str, Any]) -> None:
        try:
            await self._calls.send(f"{self._calls.prefix}.{method}", {**self._calls.key, **more})
        except RpcError as error:
            if error.code != "lease_lost":
                raise
            self._end("lost")
            raise LeaseLost(f"{self._calls.what} was lost: the master gave it up") from error

    def _has_ended(self) -> bool:
        if self._state == "held" and monotonic() >= self._ends_at:
            self._end("lost")
        return self._state != "held"

    def _assert_held(self) -> None:
        if self._has_ended():
            how = "was lost: its hold ended" if self._state == "lost" else "was released"
            raise LeaseLost(f"{self._calls.what} {how}")

    def _end(self, state: str) -> None:
        if self._state != "held":
            return
        self._state = state
        if asyncio.current_task() is not self._renewal:
            self._renewal.cancel()
        if state == "lost":
            self._log.warn(f"{self._calls.what} was lost")
        self._on_end(self)


class Lock(AutoRenewedLease):
    """A lock of a run."""


class Claim(AutoRenewedLease):
    """A claimed item of a pool."""

    id: str
    payload: dict[str, Any]
    tags: dict[str, Any]

    async def remove(self) -> None:
        """Removes the item from the pool. Raises LeaseLost."""
        await self._release("remove")
