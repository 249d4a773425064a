"""Tracks every lease of this worker, from the response of a reserve until its outcome is queued.

Extends all leases in one call at each third of the visibility timeout (D25), so that two consecutive calls may fail
before a lease expires. Only the master ends a lease early, with `lease_lost`; the worker's own clock never does. The
fencing token rejects a late outcome (D24).

The progress of runs is sent by extends of its own (D114): the newest of all runs together, at most once a second, and
only while all live masters offer it.

The timeout is the shorter one of what the automation declares and what the leases show: their `expires_at` less the
`Date` of the response, which is in whole seconds. In a stream, the time since its `Date` is added.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from .errors import LeaseLost, RpcError
from .lease import AddOutcome, HeldLease, Settlement
from .limits import MAX_SETTLE_ITEMS
from .logs import Log
from .rpc_client import RpcClient

_MAX_CALL_SECONDS = 15.0
_MIN_VISIBILITY_SECONDS = 0.75
_REPORT_EVERY_SECONDS = 1.0
_NO_REPORTS_SECONDS = 60.0
_MAX_REPORTS = 512
"""Reports in one call: half of the maximum body."""

Reports = dict[HeldLease, object]


class Leases:
    """Owns the leases of a worker."""

    def __init__(
        self,
        log: Log,
        rpc: RpcClient,
        visibility_seconds: float,
        add_outcome: AddOutcome,
        offers: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """`offers` returns whether all live masters have a feature."""
        self._log, self._rpc, self._add_outcome, self._offers = log, rpc, add_outcome, offers
        self.visibility_seconds = self._declared_seconds = visibility_seconds
        self._is_estimate = False
        self._held: dict[int, HeldLease] = {}
        self._changed = asyncio.Event()
        self._reports: Reports = {}
        self._reporter: asyncio.Task[None] | None = None
        self._no_reports_until = 0.0
        self._background: set[asyncio.Task[None]] = set()

    @property
    def size(self) -> int:
        """Number of leases."""
        return len(self._held)

    async def run(self) -> None:
        """Extends all leases periodically, until it is cancelled."""
        wait = self._every
        while True:
            try:
                async with asyncio.timeout(wait):
                    await self._changed.wait()
                self._changed.clear()
                wait = self._every
            except TimeoutError:
                wait = await self._extend_all()

    def hold(
        self, task: Mapping[str, Any], config: Mapping[str, Any], served_at: float = 0.0, *, is_estimate: bool = False
    ) -> HeldLease:
        """Tracks a reserved task. `served_at`: when it was leased, in unix seconds of the master's clock, or 0."""
        lease = HeldLease(task, config, self)
        self._held[lease.token] = lease
        if served_at > 0:
            self._measured(max(float(task["expires_at"]) - served_at - 1, _MIN_VISIBILITY_SECONDS), is_estimate)
        return lease

    def _measured(self, seen: float, is_estimate: bool) -> None:
        """An estimate is too short if the process was suspended before it read the task. A later one corrects it."""
        if seen < self.visibility_seconds - 1 or (self._is_estimate and seen > self.visibility_seconds + 1):
            self.visibility_seconds = min(seen, self._declared_seconds)
            self._is_estimate = is_estimate
            self._changed.set()

    def settle(self, lease: HeldLease, outcome: Settlement) -> None:
        """Queues the outcome of a lease, which ends it."""
        self._held.pop(lease.token, None)
        if lease in self._reports:
            report = {lease: self._reports.pop(lease)}
            if outcome.method != "tasks.ack" and self._may_report():
                self._spawn(self._send(report))
        self._add_outcome(outcome)

    def report(self, lease: HeldLease, progress: object) -> None:
        """Replaces the progress of a lease. It is sent within a second."""
        self._reports[lease] = progress
        if self._reporter is None:
            self._reporter = self._spawn(self._send_reports())

    async def extend(self, lease: HeldLease) -> None:
        """Extends one lease now. Raises LeaseLost."""
        if lease.token in self._held:
            await self._extend_many([lease])
        if lease.lost.is_set:
            raise LeaseLost(f"the lease of task {lease.id} was lost; another worker may have the task")

    def cancelled(self, task_id: object, token: object) -> None:
        """Ends a lease whose task was cancelled. Does nothing for one that has an outcome, or has not arrived yet."""
        lease = self._held.get(token) if isinstance(token, int) else None
        if lease is not None and lease.id == task_id:
            del self._held[lease.token]
            self._reports.pop(lease, None)
            self._log.info("the task was cancelled, ending its run", task_id=lease.id)
            lease.end()

    def release_all(self) -> None:
        """Releases all remaining leases, before the process ends."""
        for lease in list(self._held.values()):
            lease.release()

    @property
    def _every(self) -> float:
        return self.visibility_seconds / 3

    async def _extend_all(self) -> float:
        """Returns the seconds until the next call."""
        held = list(self._held.values())
        parts = [held[start : start + MAX_SETTLE_ITEMS] for start in range(0, len(held), MAX_SETTLE_ITEMS)]
        started = asyncio.get_running_loop().time()
        try:
            await asyncio.gather(*(self._extend_many(part) for part in parts))
        except RpcError as error:
            self._log.warn("failed to extend leases, retrying", leases=len(held), error=str(error))
            return self._every / 3
        return max(0.0, self._every - (asyncio.get_running_loop().time() - started))

    def _may_report(self) -> bool:
        return self._offers("progress") and asyncio.get_running_loop().time() >= self._no_reports_until

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    async def _send_reports(self) -> None:
        """Sends what was reported, at most once a second, until nothing is left."""
        while self._reports:
            if self._may_report():
                reports, self._reports = self._reports, {}
                await self._send(reports)
            await asyncio.sleep(_REPORT_EVERY_SECONDS)
        self._reporter = None

    async def _send(self, reports: Reports) -> None:
        leases = list(reports)
        try:
            for start in range(0, len(leases), _MAX_REPORTS):
                await self._extend_many(leases[start : start + _MAX_REPORTS], reports)
        except RpcError as error:
            if error.code == "invalid_params":
                self._log.warn("the master rejects the progress of tasks; reporting none for 60 s", error=str(error))
                self._no_reports_until = asyncio.get_running_loop().time() + _NO_REPORTS_SECONDS
                return
            held = {lease: progress for lease, progress in reports.items() if lease.token in self._held}
            self._reports = held | self._reports

    async def _extend_many(self, leases: list[HeldLease], reports: Reports | None = None) -> None:
        items = [lease.key if reports is None else {**lease.key, "progress": reports[lease]} for lease in leases]
        params = {"tasks": items}
        response = await self._rpc.call("tasks.extend", params, min(_MAX_CALL_SECONDS, self._every))
        for lease, result in zip(leases, response.get("results", []), strict=False):
            if result.get("ok") is False and self._held.pop(lease.token, None) is not None:
                self._reports.pop(lease, None)
                self._log.warn("lease lost: the task may have been given to another worker", task_id=lease.id)
                lease.end()
