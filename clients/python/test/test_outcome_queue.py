"""Tests the delivery of outcomes: repeated until the master responds, and discarded when it rejects them."""

import asyncio
import unittest
from typing import Any

from muster_worker.errors import RpcError
from muster_worker.lease import Settlement
from muster_worker.outcome_queue import OutcomeQueue

from .fixtures import UNAVAILABLE, FakeRpc, RecordedLog, virtual


def settled(method: str, params: Any) -> Any:
    return {"results": [{"ok": True} for _ in params["tasks"]]}


def ack(token: int) -> Settlement:
    return Settlement("tasks.ack", {"task_id": f"t-{token}", "token": token})


class OutcomeQueueTest(unittest.TestCase):
    def start(self, rpc: FakeRpc) -> OutcomeQueue:
        self.log, self.registrations, self.died = RecordedLog(), list[str](), 0
        queue = OutcomeQueue(self.log.log, rpc.client, self.registrations.append, self._count_death)
        self.running = asyncio.create_task(queue.run())
        return queue

    def _count_death(self) -> None:
        self.died += 1

    @virtual
    async def test_counts_the_tasks_that_are_dead_after_a_nack(self) -> None:
        results = [{"ok": True, "outcome": "dead"}, {"ok": True, "outcome": "scheduled"}]
        queue = self.start(FakeRpc(lambda *_: {"results": results}))
        for token in range(2):
            queue.add(Settlement("tasks.nack", {**ack(token).item, "error": "x"}))
        await queue.idle()
        self.assertEqual(self.died, 1)

    @virtual
    async def test_sends_outcomes_of_the_same_moment_together(self) -> None:
        rpc = FakeRpc(settled)
        queue = self.start(rpc)
        for token in range(3):
            queue.add(ack(token))
        queue.add(Settlement("tasks.release", {"task_id": "t-9", "token": 9}))
        await queue.idle()
        self.assertEqual([method for _, method, _ in rpc.calls], ["tasks.ack", "tasks.release"])
        self.assertEqual(len(rpc.calls[0][2]["tasks"]), 3)

    @virtual
    async def test_repeats_the_same_outcome_until_the_master_responds(self) -> None:
        outcomes: list[Any] = [UNAVAILABLE] * 5
        rpc = FakeRpc(lambda method, params: outcomes.pop() if outcomes else settled(method, params))
        queue = self.start(rpc)
        queue.add(ack(7))
        await queue.idle()
        self.assertEqual([params["tasks"] for _, _, params in rpc.calls], [[ack(7).item]] * 6)
        gaps = [later[0] - earlier[0] for earlier, later in zip(rpc.calls, rpc.calls[1:], strict=False)]
        for gap, longest in zip(gaps, [0.2, 0.4, 0.8, 1.6, 3.2], strict=True):
            self.assertTrue(longest / 2 <= gap <= longest, f"{gap} is not in the upper half of {longest}")

    @virtual
    async def test_sends_outcomes_without_results_to_a_master_that_rejects_them(self) -> None:
        outcomes = [RpcError("invalid_params", "unknown field")]
        rpc = FakeRpc(lambda method, params: outcomes.pop() if outcomes else settled(method, params))
        queue = self.start(rpc)
        queue.add(Settlement("tasks.ack", {**ack(1).item, "result": {"a": 1}}, 7))
        await queue.idle()
        sent = [params["tasks"] for _, _, params in rpc.calls]
        self.assertEqual(sent, [[{**ack(1).item, "result": {"a": 1}}], [ack(1).item]])

    @virtual
    async def test_registers_again_and_repeats_when_the_master_does_not_know_the_worker(self) -> None:
        outcomes = [RpcError("unknown_worker", "unknown")]
        rpc = FakeRpc(lambda method, params: outcomes.pop() if outcomes else settled(method, params))
        queue = self.start(rpc)
        queue.add(ack(1))
        await queue.idle()
        self.assertEqual((len(rpc.calls), len(self.registrations)), (2, 1))

    @virtual
    async def test_discards_what_the_master_rejects_and_logs_a_lost_lease(self) -> None:
        outcomes: list[Any] = [{"results": [{"ok": False, "error": "lease_lost"}]}, RpcError("invalid_params", "bad")]
        rpc = FakeRpc(lambda *_: outcomes.pop())
        queue = self.start(rpc)
        queue.add(ack(1))
        await queue.idle()
        queue.add(ack(2))
        await queue.idle()
        self.assertEqual((len(self.log.messages("error")), len(self.log.messages("warn"))), (1, 1))

    @virtual
    async def test_halves_its_calls_for_a_smaller_body_limit(self) -> None:
        def respond(method: str, params: Any) -> Any:
            if len(params["tasks"]) > 3:
                return RpcError("unavailable", "too large", {"status": 413})
            return settled(method, params)

        rpc = FakeRpc(respond)
        queue = self.start(rpc)
        for token in range(10):
            queue.add(ack(token))
        await queue.idle()
        self.assertEqual([len(params["tasks"]) for _, _, params in rpc.calls], [10, 5, 2, 2, 2, 2, 2])
        self.assertEqual([item["token"] for _, _, params in rpc.calls[2:] for item in params["tasks"]], list(range(10)))
