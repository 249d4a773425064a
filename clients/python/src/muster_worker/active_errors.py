"""Keeps the current errors of a worker by source. The newest is `last_error` in the state frame."""

from collections.abc import Callable

from .limits import truncate_error


class ActiveErrors:
    """Sources are a slot, the config, a spawn, or an unhandled error. A source clears only its own error."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._messages: dict[str, str] = {}
        self._on_change = on_change

    @property
    def last(self) -> str | None:
        """The newest message; None without errors."""
        return next(reversed(self._messages.values()), None)

    def has(self, source: str) -> bool:
        """Whether this source has an error."""
        return source in self._messages

    def set(self, source: str, message: str | None) -> None:
        """Sets the error of a source. None clears it."""
        known = self._messages.pop(source, None)
        if message is not None:
            self._messages[source] = truncate_error(message)
        if known is not None or message is not None:
            self._on_change()
