"""Tests the calls of runs: who claims pool items (D186)."""

import asyncio
import unittest
from typing import Any

from muster_worker.errors import RpcError
from muster_worker.plugin_calls import PluginCalls

from .fixtures import UNAVAILABLE, FakeRpc, virtual

PLAIN = {"pool": "p", "hold_ms": 1_000}
FULL = {**PLAIN, "slot_id": 2, "task_id": "t"}


class PluginCallsTest(unittest.TestCase):
    def start(self, *failures: RpcError) -> PluginCalls:
        waiting: list[Any] = [*failures]
        self.offered = {"holder"}
        self.rpc = FakeRpc(lambda *_: waiting.pop(0) if waiting else {"claims": []})
        return PluginCalls(self.rpc.client, lambda feature: feature in self.offered)

    def sent(self) -> list[Any]:
        return [params for _, _, params in self.rpc.calls]

    @virtual
    async def test_names_slot_and_task_only_for_masters_that_read_them(self) -> None:
        calls = self.start()
        await calls.call("pool.claim", FULL)
        self.offered.clear()
        await calls.call("pool.claim", FULL)
        await calls.call("kv.get", {"key": "task_id"})
        self.assertEqual(self.sent(), [FULL, PLAIN, {"key": "task_id"}])

    @virtual
    async def test_claims_again_without_them_if_a_master_rejects_them_and_for_60_s(self) -> None:
        calls = self.start(RpcError("invalid_params", "params: has unknown fields"))
        self.assertEqual(await calls.call("pool.claim", FULL), {"claims": []})
        await calls.call("pool.claim", FULL)
        await asyncio.sleep(61)
        await calls.call("pool.claim", FULL)
        self.assertEqual(self.sent(), [FULL, PLAIN, PLAIN, FULL])

    @virtual
    async def test_does_not_repeat_a_claim_after_another_failure_because_it_may_have_been_granted(self) -> None:
        calls = self.start(UNAVAILABLE)
        with self.assertRaises(RpcError):
            await calls.call("pool.claim", FULL)
        self.assertEqual(self.sent(), [FULL])
