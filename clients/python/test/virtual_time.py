"""Runs a coroutine on an event loop whose clock is virtual: instead of waiting, the clock moves to the next timer."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any


class _Selector(selectors.SelectSelector):
    """Never waits for long: the time that it would wait is added to the virtual clock."""

    now = 1_000.0

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("the test waits for something that never happens")
        if not ready:
            self.now += timeout or 0.0
        return ready


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """`time` is virtual."""

    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now


def on_virtual_time(test: Coroutine[Any, Any, None]) -> None:
    """Runs `test` to its end, and cancels the tasks that it left."""
    loop = VirtualTimeLoop()
    try:
        loop.run_until_complete(asyncio.wait_for(test, 100_000))
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left))
    finally:
        loop.close()


def elapsed(since: float) -> float:
    """Returns the virtual seconds since a point in time, rounded to milliseconds."""
    return round(asyncio.get_running_loop().time() - since, 3)
