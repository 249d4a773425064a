"""Defines the errors that a run raises to choose an outcome, and those that it may catch."""

from typing import Any, Literal

StopReason = Literal["slots", "disabled", "recycle", "drain", "shutdown", "lease_lost"]


class RetryIn(Exception):
    """Raised by a run to retry its task after a delay of 0 to 86,400 seconds. Counts as a failed attempt."""

    def __init__(self, seconds: float, message: str) -> None:
        super().__init__(message)
        if not 0 <= seconds <= 86_400:
            raise TypeError(f"RetryIn takes 0..86400 seconds, got {seconds}")
        self.seconds = seconds


class Permanent(Exception):
    """Raised by a run for a task that can never succeed. Moves the task to the dead letters immediately."""


class LeaseLost(Exception):
    """Raised by each use of a lock, claim or task whose lease was lost."""

    code = "lease_lost"


class RpcError(Exception):
    """A call that the master rejected, or that got no readable response (code `unavailable`).

    `data["outcome"]` of `unavailable` is `not_sent` when the master certainly did nothing, else `unknown`.
    """

    def __init__(self, code: str, message: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data or {}
