"""Counts what the runs of a worker did under its applied config, for the reserved metrics (D137).

  config applied ──▶ all counters restart at 0
  run ended      ──▶ counted if it began under the applied config; otherwise it says nothing about this config

A config is identified by its object: each applied config is a new one, and a batch run keeps that of its reserve. Two
errors count as the same if they differ only in their numbers: `timeout after 31 ms`, `timeout after 29 ms`.
"""

import math
import re
from collections import Counter
from collections.abc import Callable
from typing import Literal

from .config import Config

RESERVED_PREFIX = "muster."
_BUCKETS, _BUCKETS_PER_DOUBLING = 88, 4
_MAX_ERRORS, _MAX_ERROR_CHARS = 16, 256
_FAILURES = ("runs_failed", "slot_failures")

Outcome = Literal["ok", "failed", "released"]


def run_ms_bucket(ms: float) -> int:
    """Returns the bucket of a duration: `i` has the runs of at most 2^(i/4) ms that fit into no bucket before it."""
    return 0 if ms <= 1 else min(math.ceil(_BUCKETS_PER_DOUBLING * math.log2(ms)), _BUCKETS - 1)


class RunCounters:
    """The counters of one worker. The runs of a continuous automation are counted only if they fail.

    `on_first_failure` is called for the first failed run, and for the first slot that cannot start, under a config.
    """

    def __init__(self, *, is_batch: bool, on_first_failure: Callable[[], None] = lambda: None) -> None:
        self._is_batch, self._on_first_failure = is_batch, on_first_failure
        self._errors: dict[str, int] = {}  # Failed runs by error, the newest error last.
        self._config: Config | None = None
        self._counts: Counter[str] = Counter()

    def applied(self, config: Config) -> None:
        """Restarts all counters for a config that has just been applied."""
        self._config = config
        self._counts.clear()
        self._errors.clear()

    def run_ended(self, config: Config, outcome: Outcome, seconds: float, error: str | None = None) -> None:
        """Counts a run. A run whose lease was lost, or that was stopped with its slot, is none.

        `error` is the text of its failure.
        """
        if config is not self._config:
            return
        if not self._is_batch:
            if outcome == "failed":
                self.slot_failed()
            return
        self._add(f"runs_{outcome}")
        if error is not None:
            self._add_error(re.sub(r"\d+", "#", error[:_MAX_ERROR_CHARS]))
        if outcome != "released":  # A released run was interrupted, so its duration says nothing.
            self._counts[f"run_ms_le.{run_ms_bucket(seconds * 1_000)}"] += 1

    def slot_failed(self) -> None:
        """Counts a slot that could not start, or a continuous run that raised."""
        self._add("slot_failures")

    def task_died(self) -> None:
        """Counts a failed run after which its task was dead."""
        self._add("runs_died")

    def snapshot(self) -> dict[str, float]:
        """Returns the counters above 0, by their names in the stats."""
        newest = next(reversed(self._errors.values()), None)
        counts = {**self._counts, **({} if newest is None else {"last_error_runs": newest})}
        return {f"counter.{RESERVED_PREFIX}{name}": count for name, count in counts.items()}

    def _add(self, name: str) -> None:
        self._counts[name] += 1
        if self._counts[name] == 1 and name in _FAILURES:
            self._on_first_failure()

    def _add_error(self, error: str) -> None:
        self._errors[error] = self._errors.pop(error, 0) + 1
        if len(self._errors) > _MAX_ERRORS:
            del self._errors[next(iter(self._errors))]
