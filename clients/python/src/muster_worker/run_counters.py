"""Counts what the runs of a worker did under its applied config, for the reserved metrics (D137).

  config applied ──▶ all counters restart at 0
  run ended      ──▶ counted if it began under the applied config; otherwise it says nothing about this config

A config is identified by its object: each applied config is a new one, and a batch run keeps that of its reserve.
"""

import math
from collections import Counter
from typing import Literal

from .config import Config

RESERVED_PREFIX = "muster."
_BUCKETS, _BUCKETS_PER_DOUBLING = 88, 4

Outcome = Literal["ok", "failed", "released"]


def run_ms_bucket(ms: float) -> int:
    """Returns the bucket of a duration: `i` has the runs of at most 2^(i/4) ms that fit into no bucket before it."""
    return 0 if ms <= 1 else min(math.ceil(_BUCKETS_PER_DOUBLING * math.log2(ms)), _BUCKETS - 1)


class RunCounters:
    """The counters of one worker. The runs of a continuous automation are counted only if they fail."""

    def __init__(self, *, is_batch: bool) -> None:
        self._is_batch = is_batch
        self._config: Config | None = None
        self._counts: Counter[str] = Counter()

    def applied(self, config: Config) -> None:
        """Restarts all counters for a config that has just been applied."""
        self._config = config
        self._counts.clear()

    def run_ended(self, config: Config, outcome: Outcome, seconds: float) -> None:
        """Counts a run. A run whose lease was lost, or that was stopped with its slot, is none."""
        if config is not self._config:
            return
        if not self._is_batch:
            if outcome == "failed":
                self.slot_failed()
            return
        self._counts[f"runs_{outcome}"] += 1
        if outcome != "released":  # A released run was interrupted, so its duration says nothing.
            self._counts[f"run_ms_le.{run_ms_bucket(seconds * 1_000)}"] += 1

    def slot_failed(self) -> None:
        """Counts a slot that could not start, or a continuous run that raised."""
        self._counts["slot_failures"] += 1

    def snapshot(self) -> dict[str, float]:
        """Returns the counters above 0, by their names in the stats."""
        return {f"counter.{RESERVED_PREFIX}{name}": count for name, count in self._counts.items()}
