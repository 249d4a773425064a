"""Keeps what the slots of a worker report: their metrics, their tasks, and which of them failed last (D55)."""

import math
import re
import threading
from collections import deque
from dataclasses import dataclass
from typing import Any

from .active_errors import ActiveErrors
from .backoff import monotonic
from .limits import MAX_METRIC_NAMES, MAX_NAME_CHARS
from .logs import Log
from .run_counters import RESERVED_PREFIX

_NAME = re.compile(f"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]{{1,{MAX_NAME_CHARS}}}")
_HISTOGRAM_VALUES = 10_000


class Metric:
    """One named counter, gauge or histogram of one slot. An invalid name or value is dropped and logged once."""

    def __init__(self, records: "SlotRecords", kind: str, name: str, slot_id: int) -> None:
        self._records, self._kind, self._name, self._slot_id = records, kind, name, slot_id

    def add(self, n: float = 1) -> None:
        """Adds 0 or more to a counter."""
        self._records.record("counter", self._kind, self._name, n, self._slot_id)

    def set(self, value: float) -> None:
        """Sets a gauge."""
        self._records.record("gauge", self._kind, self._name, value, self._slot_id)

    def record(self, value: float) -> None:
        """Records one value of a histogram, 0 or more."""
        self._records.record("histogram", self._kind, self._name, value, self._slot_id)


class Metrics:
    """The metrics of one slot. May be used from any thread."""

    def __init__(self, records: "SlotRecords", slot_id: int) -> None:
        self._records, self._slot_id = records, slot_id

    def counter(self, name: str) -> Metric:
        """A sum over all slots: `counter("pages").add()`."""
        return Metric(self._records, "counter", name, self._slot_id)

    def gauge(self, name: str) -> Metric:
        """The last value: `gauge("queue").set(3)`."""
        return Metric(self._records, "gauge", name, self._slot_id)

    def histogram(self, name: str) -> Metric:
        """Percentiles over the newest 10,000 values: `histogram("ms").record(12.5)`."""
        return Metric(self._records, "histogram", name, self._slot_id)


@dataclass(frozen=True)
class _RunningTask:
    id: str
    started_at: float


class SlotRecords:
    """Aggregates the metrics of all slots, including ended ones."""

    def __init__(self, log: Log, errors: ActiveErrors) -> None:
        self._log, self._errors = log, errors
        self._failing: set[int] = set()
        self._tasks: dict[int, _RunningTask] = {}
        self._lock = threading.Lock()
        self._totals: dict[tuple[str, str], float] = {}
        self._samples: dict[str, deque[float]] = {}
        self._counters: dict[int, dict[str, float]] = {}
        self._logged: set[str] = set()

    @property
    def failing(self) -> int:
        """How many slots failed in their last run."""
        return len(self._failing)

    def set_error(self, slot_id: int, message: str | None) -> None:
        """Sets the error of a slot; None when its last run succeeded."""
        if message is None:
            self._failing.discard(slot_id)
        else:
            self._failing.add(slot_id)
        self._errors.set(f"slot {slot_id}", message)

    def set_task(self, slot_id: int, task_id: str | None) -> None:
        """Sets the task that a slot runs from now on; None between two tasks."""
        if task_id is None:
            self._tasks.pop(slot_id, None)
        else:
            self._tasks[slot_id] = _RunningTask(task_id, monotonic())

    def forget(self, slot_id: int) -> None:
        """Removes the error, the task and the counters of a slot that ended. The sums keep its values."""
        self.set_error(slot_id, None)
        self.set_task(slot_id, None)
        with self._lock:
            self._counters.pop(slot_id, None)

    def record(self, wanted: str, kind: str, name: str, value: float, slot_id: int) -> None:
        """Records one value of a metric."""
        if wanted != kind:
            raise TypeError(f"{name!r} is a {kind}: a counter has add(), a gauge set(), a histogram record()")
        with self._lock:
            if not self._accepts(kind, name, value):
                return
            key = (kind, name)
            if kind == "gauge":
                self._totals[key] = value
                return
            self._totals[key] = self._totals.get(key, 0) + (value if kind == "counter" else 1)
            if kind == "counter":
                own = self._counters.setdefault(slot_id, {})
                own[name] = own.get(name, 0) + value
            else:
                self._samples.setdefault(name, deque(maxlen=_HISTOGRAM_VALUES)).append(value)

    def metrics(self, evicted_outputs: int) -> dict[str, float]:
        """Returns all metrics of the worker, flat by name."""
        with self._lock:
            flat = {f"{kind}.{name}": value for (kind, name), value in self._totals.items() if kind != "histogram"}
            for name, samples in self._samples.items():
                ordered = sorted(samples)
                for percent in (50, 95, 99):
                    index = max(0, math.ceil(len(ordered) * percent / 100) - 1)
                    flat[f"histogram.{name}.p{percent}"] = ordered[index]
                flat[f"histogram.{name}.count"] = self._totals["histogram", name]
        return {**flat, **({"counter.outputs_evicted": evicted_outputs} if evicted_outputs > 0 else {})}

    def per_slot(self, ages: dict[int, float], can_name_tasks: bool) -> list[dict[str, Any]]:
        """Returns age, counters and task of each slot, for a stats frame.

        `can_name_tasks`: whether the master reads the tasks of slots (D196).
        """
        with self._lock:
            counters = {slot_id: dict(self._counters.get(slot_id, {})) for slot_id in ages}
        return [
            {
                "slot_id": slot_id,
                "age_seconds": round(age, 3),
                "counters": counters[slot_id],
                **(self._task_of(slot_id) if can_name_tasks else {}),
            }
            for slot_id, age in ages.items()
        ]

    def _task_of(self, slot_id: int) -> dict[str, Any]:
        task = self._tasks.get(slot_id)
        return {} if task is None else {"task_id": task.id, "task_seconds": round(monotonic() - task.started_at, 3)}

    def _accepts(self, kind: str, name: str, value: float) -> bool:
        if not isinstance(value, int | float) or not math.isfinite(value) or (kind != "gauge" and value < 0):
            return self._refuse(
                f"{kind} {name}"[:MAX_NAME_CHARS], f"a value of the {kind} {name!r} is dropped: {value!r}"
            )
        if (kind, name) in self._totals:
            return True
        if not isinstance(name, str) or _NAME.fullmatch(name) is None:
            return self._refuse("name", f"a {kind} is dropped: its name must be 1 to {MAX_NAME_CHARS} characters")
        if name.startswith(RESERVED_PREFIX):
            return self._refuse(
                "reserved",
                f"the {kind} {name!r} is dropped: names that begin with {RESERVED_PREFIX!r} are reserved "
                "for the worker; choose another name",
            )
        if len(self._totals) < MAX_METRIC_NAMES:
            return True
        return self._refuse("full", f"the {kind} {name!r} is dropped: a worker keeps {MAX_METRIC_NAMES} metrics")

    def _refuse(self, key: str, message: str) -> bool:
        if key not in self._logged and len(self._logged) <= 3 * MAX_METRIC_NAMES:
            self._logged.add(key)
            self._log.warn(message)
        return False
