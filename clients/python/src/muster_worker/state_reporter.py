"""Decides when to send a state frame: every 15 s, and after each change. Changes within 100 ms share a frame.

IDLE     disabled, no slots requested, or stopped
RUNNING  slots are requested
ERROR    slots are requested, and the last run of each one failed, or no slot can be started
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from .backoff import monotonic
from .limits import STATE_EVERY_SECONDS, to_json

_MIN_GAP_SECONDS = 0.1


@dataclass(frozen=True)
class WorkerCondition:
    """The content of a state frame."""

    state: str
    config_gen: int
    last_error: str | None


def state_of(*, target: int, active: int, failing: int, spawn_fails: bool) -> str:
    """Returns the state of a worker with a target of `target` slots."""
    if target == 0:
        return "IDLE"
    if active == 0:
        return "ERROR" if spawn_fails else "RUNNING"
    return "ERROR" if failing >= active else "RUNNING"


class StateReporter:
    """`send` requests a state frame from the outbox, which calls `frame` when it can be sent."""

    def __init__(self, condition: Callable[[], WorkerCondition], send: Callable[[], None]) -> None:
        self._condition = condition
        self._send = send
        self._last_sent: WorkerCondition | None = None
        self._last_sent_at = float("-inf")
        self._gap: asyncio.TimerHandle | None = None

    async def run(self) -> None:
        """Requests a frame every 15 s, until it is cancelled."""
        while True:
            await asyncio.sleep(STATE_EVERY_SECONDS)
            self._send()

    def send_if_changed(self) -> None:
        """Sends a state frame if the condition changed since the last one."""
        if self._gap is not None or self._condition() == self._last_sent:
            return
        wait = self._last_sent_at + _MIN_GAP_SECONDS - monotonic()
        if wait <= 0:
            self._send()
            return
        self._gap = asyncio.get_running_loop().call_later(wait, self._gap_ended)

    def frame(self) -> str:
        """Creates the frame with the current condition."""
        condition = self._condition()
        self._last_sent, self._last_sent_at = condition, monotonic()
        return to_json(
            {
                "type": "state",
                "state": condition.state,
                "config_gen": condition.config_gen,
                "ts": time.time(),
                "last_error": condition.last_error,
            }
        )

    def _gap_ended(self) -> None:
        self._gap = None
        if self._condition() != self._last_sent:
            self._send()
