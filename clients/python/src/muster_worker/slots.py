"""Supervises the slots: each applied config, ended slot and timer adjusts them to the target, `enabled ? slots : 0`.

  spawn ─▶ running ──lowered, disabled, recycled, drained──▶ ending ──run ends──▶ ended, its place is free
              └── ended by itself or raised: a failed spawn ──▶ retried after 1 s … 60 s

Lowering the target stops the oldest slots first. A stopping slot keeps its place until it ends. A batch slot ends after
its task, without a time limit; a continuous slot is killed after the drain timeout (D53).
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from .backoff import Backoff, monotonic
from .config import Config
from .errors import StopReason
from .logs import Log
from .signals import StopSignal

_HEALTHY_SECONDS = 10
_MIN_RECYCLE_SECONDS = 1


class Slot:
    """One slot. `stopping`: end after the current work; `killed`: end now."""

    def __init__(self, slot_id: int) -> None:
        self.id, self.started_at = slot_id, monotonic()
        self.stopping, self.killed = StopSignal(), StopSignal()


@dataclass(frozen=True)
class SlotsDeps:
    """`run` runs one slot until it is stopped. `end_within`: seconds for a stopped slot, or None without a limit."""

    run: Callable[[Slot], Awaitable[None]]
    end_within: float | None
    on_spawn_error: Callable[[str | None], None]
    on_change: Callable[[], None]
    on_gone: Callable[[int], None]


class Slots:
    """The slots of one worker, oldest first."""

    def __init__(self, log: Log, deps: SlotsDeps) -> None:
        self._log, self._deps = log, deps
        self._backoff = Backoff(1.0, 60.0)
        self._slots: dict[int, Slot] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._enabled, self._recycle = False, 0.0
        self._drained: StopReason | None = None
        self._paused = False
        self._recycle_timer: asyncio.TimerHandle | None = None
        self._healthy_timer: asyncio.TimerHandle | None = None
        self._empty = asyncio.Event()
        self.target = 0

    @property
    def active(self) -> int:
        """Number of running slots that were not stopped."""
        return sum(not slot.stopping.is_set for slot in self._slots.values())

    @property
    def size(self) -> int:
        """Number of running slots, including those that are stopping."""
        return len(self._slots)

    def ages(self) -> dict[int, float]:
        """Returns the age in seconds of each running slot."""
        now = monotonic()
        return {slot.id: now - slot.started_at for slot in self._slots.values()}

    def apply(self, config: Config) -> None:
        """Adjusts the slots to a config."""
        if self._drained is not None:
            return
        self._enabled = config["enabled"]
        self.target = config["slots"] if self._enabled else 0
        recycle = config.get("recycle_seconds", 0)
        self._recycle = 0.0 if recycle == 0 else max(recycle, _MIN_RECYCLE_SECONDS)
        self._adjust()

    async def drain(self, why: StopReason) -> None:
        """Stops all slots and starts no new ones. Returns when all have ended."""
        self._drained, self.target = why, 0
        self._adjust()
        while self._slots:
            self._empty.clear()
            await self._empty.wait()

    def kill(self, why: StopReason) -> None:
        """Interrupts all running slots."""
        for slot in list(self._slots.values()):
            slot.killed.set(why)

    def _adjust(self) -> None:
        active = [slot for slot in self._slots.values() if not slot.stopping.is_set]
        why: StopReason = self._drained or ("slots" if self._enabled else "disabled")
        for slot in active[: max(0, len(active) - self.target)]:
            self._stop(slot, why)
        while not self._paused and len(self._slots) < self.target:
            self._spawn()
        self._arm_recycle()
        self._deps.on_change()

    def _spawn(self) -> None:
        slot = Slot(next(i for i in range(len(self._slots) + 1) if i not in self._slots))
        self._slots[slot.id] = slot
        task = asyncio.create_task(self._run(slot))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, slot: Slot) -> None:
        how = "it ended without being stopped"
        try:
            await self._deps.run(slot)
        except Exception as error:
            how = f"{type(error).__name__}: {error}"
        del self._slots[slot.id]
        self._deps.on_gone(slot.id)
        if not slot.stopping.is_set:
            self._spawn_failed(slot, how)
        self._adjust()
        if not self._slots:
            self._empty.set()

    def _stop(self, slot: Slot, why: StopReason) -> None:
        slot.stopping.set(why)
        if self._deps.end_within is not None:
            asyncio.get_running_loop().call_later(self._deps.end_within, slot.killed.set, why)

    def _spawn_failed(self, slot: Slot, how: str) -> None:
        if self._healthy_timer is not None:
            self._healthy_timer.cancel()
        self._deps.on_spawn_error(f"slot {slot.id} failed to start: {how}")
        if self._paused or self._drained is not None:
            return  # Slots that fail together count as one failure.
        wait = self._backoff.next_seconds()
        self._log.error("slot failed to start, retrying", slot_id=slot.id, error=how)
        self._paused = True
        asyncio.get_running_loop().call_later(wait, self._retry)

    def _retry(self) -> None:
        self._paused = False
        self._adjust()
        self._healthy_timer = asyncio.get_running_loop().call_later(_HEALTHY_SECONDS, self._healthy)

    def _healthy(self) -> None:
        self._backoff.reset()
        self._deps.on_spawn_error(None)

    def _arm_recycle(self) -> None:
        if self._recycle_timer is not None:
            self._recycle_timer.cancel()
        oldest = next((slot for slot in self._slots.values() if not slot.stopping.is_set), None)
        if self._recycle == 0 or oldest is None:
            return
        at = oldest.started_at + self._recycle
        self._recycle_timer = asyncio.get_running_loop().call_at(at, self._recycle_old)

    def _recycle_old(self) -> None:
        for slot in list(self._slots.values()):
            if not slot.stopping.is_set and slot.started_at <= monotonic() - self._recycle:
                self._stop(slot, "recycle")
        self._adjust()
