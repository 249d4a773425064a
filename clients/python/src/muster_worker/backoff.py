"""Calculates the delays before retries, and limits the requests of a worker while the master rejects them (D67)."""

import asyncio
import random
import re
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime

Random = Callable[[], float]
MAX_RETRY_AFTER_SECONDS = 30.0
_JITTER = 0.25
_REFUSALS = frozenset({429, 500, 502, 503, 504})
_REFUSALS_IN_A_ROW = 3


def monotonic() -> float:
    """Returns the time of the event loop in seconds. In tests, the loop runs on virtual time."""
    return asyncio.get_running_loop().time()


class Backoff:
    """A series of delays d = base, 2·base, 4·base … cap, each drawn from [floor·d, d]."""

    def __init__(self, base: float, cap: float, *, floor: float = 0.5, unit: Random = random.random) -> None:
        self._base, self._cap, self._floor, self._unit = base, cap, floor, unit
        self._failures = 0

    def next_seconds(self) -> float:
        """Returns the delay before the next try."""
        delay = min(self._cap, self._base * 2.0 ** min(self._failures, 30))
        self._failures += 1
        return delay * (self._floor + (1 - self._floor) * self._unit())

    def reset(self) -> None:
        """Starts over at the base, after a success."""
        self._failures = 0


def retry_delay(policy: Mapping[str, float], attempt: int, unit: Random = random.random) -> float:
    """Returns a random delay in seconds up to base_seconds · factor^attempt, at most cap_seconds."""
    base, factor, cap = policy["base_seconds"], policy["factor"], policy["cap_seconds"]
    try:
        return unit() * min(cap, base * factor**attempt)
    except OverflowError:
        return unit() * cap


def parse_retry_after(header: str | None) -> float:
    """Returns the delay that a `Retry-After` header requests, in seconds; 0 for a missing or unreadable one."""
    if header is None:
        return 0.0
    if re.fullmatch(r"\d{1,9}", header.strip()):
        return float(header)
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except ValueError:
        return 0.0


def retry_after_delay(requested: float, unit: Random = random.random) -> float:
    """Returns the requested delay, at most 30 s, and up to a quarter longer so that workers do not return together."""
    return min(max(requested, 0.0), MAX_RETRY_AFTER_SECONDS / (1 + _JITTER)) * (1 + _JITTER * unit())


def is_refusal(status: int) -> bool:
    """Whether a peer that returned this HTTP status cannot serve requests now."""
    return status in _REFUSALS


class RefusalLimiter:
    """Limits all requests of a worker to one each 0.4 to 2 s after three refusals in a row, until one is served."""

    def __init__(self, unit: Random = random.random) -> None:
        self._backoff = Backoff(0.5, 2.0, floor=0.8, unit=unit)
        self._unit = unit
        self._in_a_row = 0
        self._next_at = float("-inf")
        self._queue = asyncio.Lock()  # First in, first out.
        self._open = asyncio.Event()

    async def turn(self) -> None:
        """Returns when a request may be sent; immediately unless the limit applies."""
        if self._in_a_row < _REFUSALS_IN_A_ROW:
            return
        async with self._queue:
            while self._in_a_row >= _REFUSALS_IN_A_ROW:
                wait = self._next_at - monotonic()
                if wait <= 0:
                    self._next_at = monotonic() + self._backoff.next_seconds()
                    return
                self._open.clear()
                await wait_for_event(self._open, wait)

    def served(self) -> None:
        """Records that the peer served a request, or refused it for a reason that lies in the request itself."""
        self._in_a_row = 0
        self._backoff.reset()
        self._next_at = float("-inf")
        self._open.set()

    def refused(self, requested: float = 0.0) -> None:
        """Records a refusal, with the delay of its `Retry-After` header."""
        self._in_a_row += 1
        if self._in_a_row == _REFUSALS_IN_A_ROW:
            self._next_at = max(self._next_at, monotonic() + self._backoff.next_seconds())
        if requested > 0:
            self._next_at = max(self._next_at, monotonic() + retry_after_delay(requested, self._unit))


async def wait_for_event(event: asyncio.Event, seconds: float) -> bool:
    """Waits until `event` is set, at most `seconds`. Returns whether it is set."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        pass
    return event.is_set()
