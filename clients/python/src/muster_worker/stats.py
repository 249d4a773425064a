"""Creates the stats frame: slots, CPU, memory and metrics of plugins. It is created when it is sent."""

import time
from collections.abc import Callable
from typing import Any

from .backoff import monotonic
from .host import Host
from .limits import MAX_FRAME_BYTES, to_json

_MIN_SAMPLE_SECONDS = 1
_MAX_VALUES = 50_000
_VALUES_PER_SLOT = 4


class Stats:
    """`metrics` are flat, by name (D55); `per_slot` has one entry per running slot."""

    def __init__(
        self, host: Host, metrics: Callable[[], dict[str, float]], per_slot: Callable[[], list[dict[str, Any]]]
    ) -> None:
        self._host, self._metrics, self._per_slot = host, metrics, per_slot
        self._sampled_at, self._cpu_seconds, self._percent = monotonic(), host.cpu_seconds(), 0.0
        self._reported_slots = 0

    @property
    def cpu_percent(self) -> float:
        """CPU usage since the last sample, in percent of one core."""
        elapsed = monotonic() - self._sampled_at
        if elapsed >= _MIN_SAMPLE_SECONDS:
            cpu_seconds = self._host.cpu_seconds()
            self._percent = round((cpu_seconds - self._cpu_seconds) / elapsed * 100, 1)
            self._sampled_at, self._cpu_seconds = self._sampled_at + elapsed, cpu_seconds
        return self._percent

    @property
    def rss_megabytes(self) -> float:
        """Resident memory in MB."""
        return round(self._host.rss_bytes() / 1024**2, 1)

    @property
    def has_slot_count_changed(self) -> bool:
        """Whether the number of slots changed since the last frame."""
        return len(self._per_slot()) != self._reported_slots

    def frame(self) -> str:
        """Creates the frame. Omits `per_slot`, then `metrics`, when the frame would be too large."""
        slots = self._per_slot()
        self._reported_slots = len(slots)
        base = {
            "type": "stats",
            "slots": len(slots),
            "cpu_pct": self.cpu_percent,
            "rss_mb": self.rss_megabytes,
            "ts": time.time(),
            "metrics": self._metrics(),
        }
        values = sum(_VALUES_PER_SLOT + len(slot["counters"]) for slot in slots)
        full = to_json({**base, "per_slot": slots})
        if len(full.encode()) <= MAX_FRAME_BYTES and values <= _MAX_VALUES:
            return full
        short = to_json(base)
        return short if len(short.encode()) <= MAX_FRAME_BYTES else to_json({**base, "metrics": {}})
