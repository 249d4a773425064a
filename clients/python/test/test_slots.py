"""Tests slots with their runs: targets, outcomes of tasks, stops, and functions that ignore their stop."""

import asyncio
import unittest
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from muster_worker.active_errors import ActiveErrors
from muster_worker.bus import BusClient
from muster_worker.config import DEFAULTS, Config
from muster_worker.context import RunDeps
from muster_worker.errors import Permanent, RetryIn
from muster_worker.lease import Settlement
from muster_worker.leases import Leases
from muster_worker.mask import Masker
from muster_worker.plugin_calls import PluginCalls
from muster_worker.run_slot import SlotRun, run_batch_slot, run_continuous_slot
from muster_worker.slot_records import Metrics, SlotRecords
from muster_worker.slots import Slot, Slots, SlotsDeps
from muster_worker.tasks import TaskFeed

from .fixtures import FakeRpc, RecordedLog, task, virtual
from .virtual_time import elapsed


class SlotsTest(unittest.TestCase):
    more: Sequence[Mapping[str, Any]] = ()
    """Further fields of the first tasks."""

    def start(self, function: Callable[[Any], Any], tasks: int = 0, kind: str = "batch") -> Slots:
        self.log, self.outcomes, self.token = RecordedLog(), list[Settlement](), 0
        self.errors: list[str | None] = []
        self.runs: list[tuple[str, float]] = []

        def respond(method: str, params: Any) -> Any:
            count = min(tasks - self.token, params["limit"])
            numbers = range(self.token, self.token + count)
            rows = [{**task(n), **(self.more[n] if n < len(self.more) else {})} for n in numbers]
            self.token += count
            return {"tasks": rows}

        self.rpc = FakeRpc(respond)
        self.leases = Leases(self.log.log, self.rpc.client, 60, self.outcomes.append)
        self.feed = TaskFeed(self.log.log, self.rpc.client, self.leases, lambda: DEFAULTS, lambda _: None)
        self.records = SlotRecords(self.log.log, ActiveErrors(lambda: None))
        self.emitted: list[tuple[int, Mapping[str, Any], str | None]] = []

        async def run(slot: Slot) -> None:
            deps = RunDeps(
                slot.id,
                self.log.log,
                Masker(()),
                Metrics(self.records, slot.id),
                PluginCalls(self.rpc.client, lambda _: True),
                cast(BusClient, None),
                lambda: DEFAULTS,
                lambda *output: self.emitted.append(output),
            )
            slot_run = SlotRun(
                function,
                slot,
                deps,
                self.errors.append,
                lambda task_id: self.records.set_task(slot.id, task_id),
                self._run_ended,
            )
            await (run_batch_slot(slot_run, self.feed) if kind == "batch" else run_continuous_slot(slot_run))

        end_within = None if kind == "batch" else 5.0
        deps = SlotsDeps(run, end_within, self.errors.append, lambda: None, lambda _: None)
        return Slots(self.log.log, deps)

    def _run_ended(self, config: Config, outcome: str, seconds: float, error: str | None) -> None:
        self.assertIs(config, DEFAULTS)
        self.assertEqual(error is not None, outcome == "failed")
        self.runs.append((outcome, round(seconds, 3)))

    def settled(self) -> list[tuple[str, dict[str, Any]]]:
        items = [(each.method, dict(each.item)) for each in self.outcomes]
        return [(method, {key: item[key] for key in item if key not in ("task_id", "token")}) for method, item in items]

    @virtual
    async def test_acknowledges_and_rejects_tasks(self) -> None:
        endings: list[Any] = [None, ValueError("bad"), RetryIn(2, "later"), Permanent("never"), SystemExit("no")]

        async def function(ctx: Any) -> None:
            ending = endings[int(ctx.task.id[2:])]
            if ending is not None:
                raise ending

        slots = self.start(function, tasks=5)
        slots.apply({"enabled": True, "slots": 1})
        await asyncio.sleep(5)
        expected = [
            ("tasks.ack", {}),
            ("tasks.nack", {"error": "ValueError: bad"}),
            ("tasks.nack", {"error": "later", "retry_in_ms": 2_000}),
            ("tasks.nack", {"error": "never", "permanent": True}),
            ("tasks.nack", {"error": "SystemExit: no"}),
        ]
        self.assertEqual(self.settled(), expected)
        self.assertEqual(self.runs, [("ok", 0.0)] + [("failed", 0.0)] * 4)

    @virtual
    async def test_sends_what_the_function_returned_for_retained_tasks_alone(self) -> None:
        returned: list[Any] = [{"text": "hi"}, "x" * 65_535, None, {1, 2}, {"text": "plain"}]
        self.more = [{"retain": True}] * 4 + [{}]

        async def function(ctx: Any) -> Any:
            return returned[int(ctx.task.id[2:])]

        slots = self.start(function, tasks=5)
        slots.apply({"enabled": True, "slots": 1})
        await asyncio.sleep(5)
        expected = [
            ("tasks.ack", {"result": {"text": "hi"}}),
            ("tasks.ack", {"result_omitted": "too_large"}),
            ("tasks.ack", {}),
            ("tasks.nack", {"error": "TypeError: Object of type set is not JSON serializable"}),
            ("tasks.ack", {}),
        ]
        self.assertEqual(self.settled(), expected)

    @virtual
    async def test_names_slot_and_task_of_outputs_claims_log_lines_and_stats(self) -> None:
        async def function(ctx: Any) -> None:
            await ctx.emit({"n": 1})
            await ctx.pool("seats").claim(hold_seconds=5)
            ctx.log.info("working", n=1)
            await ctx.sleep(10)

        slots = self.start(function, tasks=1)
        reserve = self.rpc.respond
        self.rpc.respond = lambda method, params: {"claims": []} if method == "pool.claim" else reserve(method, params)
        slots.apply({"enabled": True, "slots": 1})
        await asyncio.sleep(2)
        self.assertEqual(self.emitted, [(0, {"n": 1}, "t-0")])
        claims = [params for _, method, params in self.rpc.calls if method == "pool.claim"]
        self.assertEqual(claims, [{"pool": "seats", "hold_ms": 5_000, "slot_id": 0, "task_id": "t-0"}])
        self.assertIn(("info", "working", {"task_id": "t-0", "attempt": 0, "n": 1}), self.log.lines)
        [stats] = self.records.per_slot(slots.ages(), True)
        self.assertEqual((stats["task_id"], stats["task_seconds"]), ("t-0", 2.0))
        self.assertNotIn("task_id", self.records.per_slot(slots.ages(), False)[0])
        await asyncio.sleep(10)
        self.assertNotIn("task_id", self.records.per_slot(slots.ages(), True)[0])

    @virtual
    async def test_names_no_task_of_a_continuous_run(self) -> None:
        async def function(ctx: Any) -> None:
            await ctx.emit({"n": 1})
            await ctx.pool("seats").claim(hold_seconds=5)
            await ctx.sleep(100)

        slots = self.start(function, kind="continuous")
        self.rpc.respond = lambda *_: {"claims": []}
        slots.apply({"enabled": True, "slots": 1})
        await asyncio.sleep(1)
        self.assertEqual(self.emitted, [(0, {"n": 1}, None)])
        self.assertEqual(self.rpc.calls[-1][2], {"pool": "seats", "hold_ms": 5_000, "slot_id": 0})
        self.assertNotIn("task_id", self.records.per_slot(slots.ages(), True)[0])

    @virtual
    async def test_follows_the_target_and_lets_batch_tasks_end(self) -> None:
        async def function(ctx: Any) -> None:
            await ctx.sleep(10)

        slots = self.start(function, tasks=100)
        slots.apply({"enabled": True, "slots": 3})
        await asyncio.sleep(1)
        self.assertEqual((slots.size, slots.active, self.leases.size), (3, 3, 3))
        slots.apply({"enabled": True, "slots": 1})
        self.assertEqual((slots.size, slots.active), (3, 1))
        await asyncio.sleep(10)
        self.assertEqual((slots.size, len(self.outcomes)), (1, 3))
        slots.apply({"enabled": False, "slots": 1})
        await slots.drain("drain")
        self.assertEqual({method for method, _ in self.settled()}, {"tasks.ack"})

    @virtual
    async def test_a_killed_task_is_cancelled_with_its_reason_and_released(self) -> None:
        seen: list[Any] = []

        async def function(ctx: Any) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                seen.append(ctx.why)

        slots = self.start(function, tasks=1)
        slots.apply({"enabled": True, "slots": 1})
        await asyncio.sleep(1)
        drained = asyncio.create_task(slots.drain("shutdown"))
        slots.kill("shutdown")
        await drained
        self.assertEqual((seen, self.settled()), (["shutdown"], [("tasks.release", {})]))

    @virtual
    async def test_abandons_a_killed_task_that_ignores_its_stop_after_a_second(self) -> None:
        async def function(ctx: Any) -> None:
            while True:
                try:
                    await asyncio.sleep(100)
                except asyncio.CancelledError:
                    if asyncio.get_running_loop().time() > 2_000:
                        raise

        slots = self.start(function, tasks=1)
        slots.apply({"enabled": True, "slots": 1})
        await asyncio.sleep(1)
        started = asyncio.get_running_loop().time()
        slots.kill("shutdown")
        await slots.drain("shutdown")
        self.assertEqual((elapsed(started), self.settled()), (1, [("tasks.release", {})]))
        await asyncio.sleep(2_000)

    @virtual
    async def test_a_lost_lease_cancels_the_run_and_has_no_outcome(self) -> None:
        seen: list[Any] = []

        async def function(ctx: Any) -> None:
            try:
                await ctx.sleep(1_000)
            except asyncio.CancelledError:
                seen.append(ctx.why)
                raise

        slots = self.start(function, tasks=1)
        slots.apply({"enabled": True, "slots": 1})
        await asyncio.sleep(1)
        for lease in list(self.leases._held.values()):
            lease.end()
        await asyncio.sleep(1)
        self.assertEqual((seen, self.outcomes), (["lease_lost"], []))
        self.assertEqual(slots.size, 1, "the slot takes the next task")

    @virtual
    async def test_restarts_a_continuous_function_and_cancels_it_at_a_stop(self) -> None:
        starts: list[float] = []
        started = asyncio.get_running_loop().time()

        async def function(ctx: Any) -> None:
            starts.append(elapsed(started))
            if len(starts) > 2:
                await ctx.sleep(1_000)

        slots = self.start(function, kind="continuous")
        slots.apply({"enabled": True, "slots": 1})
        await asyncio.sleep(10)
        self.assertEqual(starts, [0, 1, 2])
        slots.apply({"enabled": False, "slots": 1})
        await asyncio.sleep(0.01)
        self.assertEqual(slots.size, 0)
