"""One reserved task, as its slot uses it. Only the first outcome counts, and a lost lease stops the run."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

from .limits import MAX_PROGRESS_BYTES, MAX_RESULT_BYTES, MAX_RETRY_SECONDS, to_json, truncate_error
from .signals import StopSignal


@dataclass(frozen=True)
class Settlement:
    """The outcome of a task, as it is sent to the master. `size` is that of its result in bytes."""

    method: str
    item: dict[str, Any]
    size: int = 0


class LeaseHolder(Protocol):
    """Owner of the leases; see leases.py."""

    def settle(self, lease: "HeldLease", outcome: Settlement) -> None:
        """Queues the outcome of a lease."""

    async def extend(self, lease: "HeldLease") -> None:
        """Extends a lease. Raises LeaseLost."""

    def report(self, lease: "HeldLease", progress: object) -> None:
        """Sends the progress of a run soon."""


class HeldLease:
    """`config` is the config that was active when the task was reserved."""

    def __init__(self, task: Mapping[str, Any], config: Mapping[str, Any], holder: LeaseHolder) -> None:
        self.id: str = task["task_id"]
        self.token: int = task["token"]
        self.payload: dict[str, Any] = task["payload"]
        self.attempt: int = task["attempt"]
        self.labels: Mapping[str, str] = MappingProxyType(task.get("labels", {}))
        self.group_key: str | None = task.get("group_key")
        self.retry: Mapping[str, float] | None = task.get("retry")
        self.last_progress: Any = task.get("progress")
        self.is_retained: bool = task.get("retain") is True
        self.config = config
        self.lost = StopSignal()
        self._holder = holder
        self._settled = False

    @property
    def key(self) -> dict[str, Any]:
        """Identifies the lease in a call."""
        return {"task_id": self.id, "token": self.token}

    async def extend(self) -> None:
        """Extends the lease now. Raises LeaseLost."""
        await self._holder.extend(self)

    def report(self, progress: object) -> None:
        """Reports the progress of the run. Raises TypeError or ValueError if it is no JSON of at most 1 KiB."""
        text = to_json(progress)
        size = len(text.encode())
        if size > MAX_PROGRESS_BYTES:
            raise ValueError(f"the progress has {size} bytes of JSON; at most {MAX_PROGRESS_BYTES} are allowed")
        if not self._settled:
            self._holder.report(self, json.loads(text))

    def ack(self, result: object = None) -> None:
        """The task succeeded. A result is sent of a retained task alone: an older master would refuse the field (D110).

        Raises TypeError or ValueError for a result that JSON cannot contain.
        """
        item, size = self.key, 0
        if self.is_retained and result is not None:
            size = len(to_json(result).encode())
            item |= {"result": result} if size <= MAX_RESULT_BYTES else {"result_omitted": "too_large"}
        self._settle(Settlement("tasks.ack", item, size if "result" in item else 0))

    def nack(self, error: str, *, retry_in: float | None = None, permanent: bool = False) -> None:
        """The task failed."""
        item = {**self.key, "error": truncate_error(error)}
        if retry_in is not None:
            item["retry_in_ms"] = round(min(max(retry_in, 0), MAX_RETRY_SECONDS) * 1_000)
        self._settle(Settlement("tasks.nack", {**item, "permanent": True} if permanent else item))

    def release(self) -> None:
        """The task returns to the queue without counting an attempt."""
        self._settle(Settlement("tasks.release", self.key))

    def end(self) -> None:
        """Marks the lease as lost. Outcomes that the slot reports later are ignored."""
        self._settled = True
        self.lost.set("lease_lost")

    def _settle(self, outcome: Settlement) -> None:
        if not self._settled:
            self._settled = True
            self._holder.settle(self, outcome)


AddOutcome = Callable[[Settlement], None]
