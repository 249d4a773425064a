"""Defines the signal that stops a slot."""

import asyncio
from collections.abc import Callable

from .errors import StopReason


class StopSignal:
    """Is set once, with a reason, and then calls its listeners."""

    def __init__(self) -> None:
        self.why: StopReason | None = None
        self._listeners: dict[object, Callable[[StopReason], None]] = {}
        self._event = asyncio.Event()

    @property
    def is_set(self) -> bool:
        """Whether the signal was set."""
        return self.why is not None

    def set(self, why: StopReason) -> None:
        """Sets the signal; a second call does nothing."""
        if self.why is not None:
            return
        self.why = why
        self._event.set()
        for listener in list(self._listeners.values()):
            listener(why)

    def listen(self, listener: Callable[[StopReason], None]) -> Callable[[], None]:
        """Calls `listener` once when the signal is set, or immediately if it is. Returns a function that removes it."""
        if self.why is not None:
            listener(self.why)
            return lambda: None
        key = object()
        self._listeners[key] = listener
        return lambda: void(self._listeners.pop(key, None))

    async def wait(self) -> None:
        """Returns when the signal is set."""
        await self._event.wait()


def void(_: object) -> None:
    """Drops a value, where a function must return none."""
