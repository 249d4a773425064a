"""Shuts a worker down in one of two forms (D53). SIGTERM during a drain adds its deadline.

  drain frame   takes no new tasks; tasks in flight finish, without a time limit
  SIGTERM       the same with a deadline: tasks that run longer than `SVC_DRAIN_TIMEOUT_SECONDS` are released

  draining ─▶ slots ended ─▶ leases released ─▶ outcomes delivered ─▶ outputs sent ─▶ sockets closed ─▶ stopped

The steps after the slots are bounded too, so an unreachable master cannot keep the worker running.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal

from .leases import Leases
from .logs import Log
from .outbox import Outbox
from .outcome_queue import OutcomeQueue
from .slots import Slots
from .tasks import TaskFeed

_LAST_RESERVE_SECONDS = 1.0
_RESPONSE_IN_FLIGHT_SECONDS = 0.25
_LAST_SETTLES_SECONDS = 6.0
_LAST_OUTPUTS_SECONDS = 3.0

DrainForm = Literal["drain", "shutdown"]


class Drain:
    """`close` closes the remaining sockets. `form` is None until the shutdown begins."""

    def __init__(
        self,
        log: Log,
        timeout: float,
        parts: tuple[Slots, TaskFeed, Leases, OutcomeQueue, Outbox],
        close: Callable[[], Awaitable[None]],
    ) -> None:
        self._log, self._timeout, self._close = log, timeout, close
        self._slots, self._feed, self._leases, self._outcomes, self._outbox = parts
        self._late = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.form: DrainForm | None = None

    def begin(self, form: DrainForm, why: str) -> asyncio.Task[None]:
        """Starts the shutdown, or shortens it. Returns the task that ends when the worker has stopped."""
        if form == "shutdown" and self.form != "shutdown":
            loop = asyncio.get_running_loop()
            loop.call_later(self._timeout, self._slots.kill, "shutdown")
            loop.call_later(self._timeout + _LAST_SETTLES_SECONDS, self._late.set)
        if self.form != "shutdown":
            self.form = form
        if self._task is None:
            self._log.info("worker draining: taking no new tasks", why=why)
            self._task = asyncio.create_task(self._run(form))
        return self._task

    async def _run(self, form: DrainForm) -> None:
        grace = _LAST_RESERVE_SECONDS if form == "drain" else _RESPONSE_IN_FLIGHT_SECONDS
        await asyncio.gather(self._feed.stop(grace), self._slots.drain(form))
        self._leases.release_all()
        # After this time every lease has expired, and its outcome has no effect.
        asyncio.get_running_loop().call_later(self._leases.visibility_seconds, self._late.set)
        if not await _finishes(self._outcomes.idle(), self._late.wait()):
            self._log.error("task outcomes could not be delivered: the tasks return when their leases expire")
        if not await _finishes(self._outbox.idle(), asyncio.sleep(_LAST_OUTPUTS_SECONDS)):
            self._log.warn("outputs could not be sent before the deadline and are lost")
        await self._close()
        self._log.info("worker stopped")


async def _finishes(work: Awaitable[object], limit: Awaitable[object]) -> bool:
    """Returns whether `work` finishes before `limit`."""
    both = [asyncio.ensure_future(work), asyncio.ensure_future(limit)]
    await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    done = both[0].done()
    for each in both:
        each.cancel()
    return done
