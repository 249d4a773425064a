"""Delivers outcomes of tasks (ack, nack and release) to the master.

Outcomes of the same moment, or that arrive during a call, are sent together. One call is in flight at a time. An
outcome is sent until the master responds (G11); repeating an ack is harmless (D24). An outcome that the master rejects
permanently is logged and discarded, so its lease expires and the task returns.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from .backoff import Backoff
from .errors import RpcError
from .lease import Settlement
from .limits import MAX_BODY_BYTES, MAX_SETTLE_ITEMS
from .logs import Log
from .rpc_client import RpcClient, requested_delay

_MAX_CHUNK_BYTES = MAX_BODY_BYTES / 2
_ITEM_BYTES = 128
_METHODS = ("tasks.ack", "tasks.nack", "tasks.release")


class OutcomeQueue:
    """`register_again` is called when the master has no record of this worker, `on_died` when a nack ended a task."""

    def __init__(
        self,
        log: Log,
        rpc: RpcClient,
        register_again: Callable[[str], None],
        on_died: Callable[[], None] = lambda: None,
    ) -> None:
        self._log, self._rpc, self._register_again, self._on_died = log, rpc, register_again, on_died
        self._backoff = Backoff(0.2, 5.0)
        self._queue: deque[Settlement] = deque()
        self._max_items = MAX_SETTLE_ITEMS
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()

    def add(self, outcome: Settlement) -> None:
        """Queues an outcome."""
        self._queue.append(outcome)
        self._idle.clear()
        self._wake.set()

    async def idle(self) -> None:
        """Returns when every outcome queued so far is delivered or discarded."""
        await self._idle.wait()

    async def run(self) -> None:
        """Delivers outcomes until it is cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            await asyncio.sleep(0)  # Outcomes of the same moment share a call.
            while self._queue:  # noqa: ASYNC110 -- The sleep is the delay before a retry.
                await asyncio.sleep(await self._send(self._chunk()))
            self._idle.set()

    def _chunk(self) -> list[Settlement]:
        chunk: list[Settlement] = []
        size = 0
        while self._queue and len(chunk) < self._max_items:
            item = self._queue[0].item
            size += _ITEM_BYTES + len(item["task_id"].encode()) + 2 * len(item.get("error", "").encode())
            size += self._queue[0].size
            if chunk and size > _MAX_CHUNK_BYTES:
                break
            chunk.append(self._queue.popleft())
        return chunk

    async def _send(self, chunk: list[Settlement]) -> float:
        """Sends one chunk, and puts failed items back at the front. Returns how long to wait before the next one."""
        groups = [[each for each in chunk if each.method == method] for method in _METHODS]
        groups = [group for group in groups if group]
        calls = [(group[0].method, {"tasks": [each.item for each in group]}) for group in groups]
        try:
            outcomes = await self._rpc.batch(calls)
        except RpcError as error:
            return self._retry(chunk, error)
        return max(self._apply_result(group, outcome) for group, outcome in zip(groups, outcomes, strict=True))

    def _apply_result(self, group: Sequence[Settlement], outcome: Any) -> float:
        if isinstance(outcome, RpcError):
            return self._refused(group, outcome)
        self._backoff.reset()
        results = outcome.get("results", []) if isinstance(outcome, dict) else []
        for index, settlement in enumerate(group):
            if index < len(results) and results[index].get("outcome") == "dead":
                self._on_died()
            if index < len(results) and results[index].get("ok") is True:
                continue
            self._log.warn(
                "the master rejected a task outcome: its lease had expired, so another worker may have the task",
                method=settlement.method,
                task_id=settlement.item["task_id"],
            )
        return 0.0

    def _refused(self, group: Sequence[Settlement], error: RpcError) -> float:
        if error.code == "unknown_worker":
            self._register_again("the master has no record of this worker")
        if error.code in ("unavailable", "unknown_worker"):
            return self._retry(group, error)
        if error.code == "invalid_params" and any(_has_result(each) for each in group):
            self._log.warn("the master rejects results of tasks; sending the outcomes again without them")
            self._queue.extendleft(reversed([_without_result(each) for each in group]))
            return 0.0
        self._log.error(
            "discarding task outcomes that the master rejects: the tasks return to the queue when their leases expire",
            error=str(error),
            tasks=[each.item["task_id"] for each in group],
        )
        return 0.0

    def _retry(self, group: Sequence[Settlement], error: RpcError) -> float:
        if error.data.get("status") == 413:  # The master has a smaller body limit.
            self._max_items = max(1, min(self._max_items, len(group)) // 2)
        self._queue.extendleft(reversed(group))
        wait = max(self._backoff.next_seconds(), requested_delay(error))
        self._log.warn("failed to deliver task outcomes, retrying", error=str(error), waiting=len(self._queue))
        return wait


def _has_result(outcome: Settlement) -> bool:
    return "result" in outcome.item or "result_omitted" in outcome.item


def _without_result(outcome: Settlement) -> Settlement:
    """The task may have been leased from another master than this one, which is older and keeps no outcomes."""
    kept = {name: value for name, value in outcome.item.items() if name not in ("result", "result_omitted")}
    return Settlement(outcome.method, kept)
