"""Tests when leases are extended, and what ends one."""

import asyncio
import unittest
from typing import Any

from muster_worker.errors import LeaseLost, RpcError
from muster_worker.lease import Settlement
from muster_worker.leases import Leases

from .fixtures import UNAVAILABLE, FakeRpc, RecordedLog, task, virtual


def extended(method: str, params: Any) -> Any:
    return {"results": [{"ok": True, "expires_at": 0} for _ in params["tasks"]]}


class LeasesTest(unittest.TestCase):
    def setUp(self) -> None:
        self.outcomes: list[Settlement] = []
        self.log = RecordedLog()

    def start(self, rpc: FakeRpc, visibility: float = 60.0) -> Leases:
        leases = Leases(self.log.log, rpc.client, visibility, self.outcomes.append)
        self.running = asyncio.create_task(leases.run())
        return leases

    @virtual
    async def test_extends_all_leases_in_one_call_at_each_third_of_the_timeout(self) -> None:
        rpc = FakeRpc(extended)
        leases = self.start(rpc)
        started = asyncio.get_running_loop().time()
        for token in range(1_500):
            leases.hold(task(token), {})
        await asyncio.sleep(61)
        times = [round(at - started, 1) for at, _, _ in rpc.calls]
        self.assertEqual(times, [20, 20, 40, 40, 60, 60])
        self.assertEqual([len(params["tasks"]) for _, _, params in rpc.calls[:2]], [1_000, 500])

    @virtual
    async def test_takes_a_shorter_timeout_from_the_leases(self) -> None:
        rpc = FakeRpc(extended)
        leases = self.start(rpc)
        started = asyncio.get_running_loop().time()
        leases.hold(task(1, expires_at=1_010.0), {}, served_at=1_000.0)
        await asyncio.sleep(5)
        self.assertEqual([round(at - started, 1) for at, _, _ in rpc.calls], [3.0])
        leases.hold(task(2, expires_at=9_000.0), {}, served_at=1_000.0)
        self.assertEqual(leases.visibility_seconds, 9)

    @virtual
    async def test_a_timeout_that_is_too_short_because_the_process_was_suspended_is_corrected(self) -> None:
        leases = self.start(FakeRpc(extended))
        leases.hold(task(1, expires_at=1_010.0), {}, served_at=1_008.0, is_estimate=True)
        self.assertEqual(leases.visibility_seconds, 1)
        leases.hold(task(2, expires_at=1_050.0), {}, served_at=1_040.0, is_estimate=True)
        self.assertEqual(leases.visibility_seconds, 9)
        leases.hold(task(3, expires_at=9_000.0), {}, served_at=1_000.0)
        self.assertEqual(leases.visibility_seconds, 60, "at most what the automation declares")

    @virtual
    async def test_retries_three_times_as_often_while_the_master_does_not_respond(self) -> None:
        rpc = FakeRpc(lambda *_: UNAVAILABLE)
        leases = self.start(rpc)
        started = asyncio.get_running_loop().time()
        lease = leases.hold(task(1), {})
        await asyncio.sleep(58)
        times = [round(at - started, 1) for at, _, _ in rpc.calls]
        self.assertEqual(times, [20, 26.7, 33.3, 40, 46.7, 53.3])
        self.assertFalse(lease.lost.is_set, "the clock of the worker never ends a lease")

    @virtual
    async def test_a_lost_lease_stops_its_run_and_drops_its_outcome(self) -> None:
        rpc = FakeRpc(lambda *_: {"results": [{"ok": False, "error": "lease_lost"}, {"ok": True}]})
        leases = self.start(rpc)
        first, second = leases.hold(task(1), {}), leases.hold(task(2), {})
        why: list[str] = []
        first.lost.listen(why.append)
        await asyncio.sleep(21)
        first.ack()
        second.ack()
        self.assertEqual(why, ["lease_lost"])
        self.assertEqual([each.item["token"] for each in self.outcomes], [2])
        with self.assertRaises(LeaseLost):
            await first.extend()

    @virtual
    async def test_a_cancelled_task_ends_the_lease_with_its_id_and_token(self) -> None:
        leases = self.start(FakeRpc(extended))
        first, second = leases.hold(task(1), {}), leases.hold(task(2), {})
        for task_id, token in ((first.id, 99), ("another", first.token), (first.id, None), (None, [1])):
            leases.cancelled(task_id, token)
        self.assertFalse(first.lost.is_set)
        leases.cancelled(first.id, first.token)
        first.ack()
        second.ack()
        self.assertEqual([first.lost.is_set, second.lost.is_set], [True, False])
        self.assertEqual([each.item["token"] for each in self.outcomes], [2])

    @virtual
    async def test_sends_the_newest_progress_once_a_second_while_it_is_offered(self) -> None:
        rpc, offered = FakeRpc(extended), ["progress"]
        leases = Leases(self.log.log, rpc.client, 600, self.outcomes.append, lambda name: name in offered)
        first, second = leases.hold(task(1, progress={"page": 1}, group_key="acme"), {}), leases.hold(task(2), {})
        self.assertEqual([first.last_progress, second.last_progress], [{"page": 1}, None])
        self.assertEqual([first.group_key, second.group_key], ["acme", None])
        for value in (1, 2):
            first.report(value)
        await asyncio.sleep(0.5)
        first.report(3)
        second.report([None])
        await asyncio.sleep(1)
        offered.clear()
        first.report(4)
        await asyncio.sleep(5)
        sent = [[item["progress"] for item in params["tasks"]] for _, _, params in rpc.calls]
        self.assertEqual(sent, [[2], [3, [None]]])
        offered.append("progress")
        second.report(5)
        second.nack("failed")
        await asyncio.sleep(2)
        self.assertEqual([params["tasks"][0]["progress"] for _, _, params in rpc.calls[2:]], [5, 4])
        with self.assertRaises(ValueError):
            first.report("x" * 1_023)

    @virtual
    async def test_sends_no_progress_for_a_minute_after_the_master_rejected_it(self) -> None:
        rpc = FakeRpc(lambda *_: RpcError("invalid_params", "progress is not allowed", {}))
        leases = Leases(self.log.log, rpc.client, 600, self.outcomes.append, lambda _: True)
        lease = leases.hold(task(1), {})
        for seconds in (1, 58, 3):
            lease.report(seconds)
            await asyncio.sleep(seconds)
        self.assertEqual([params["tasks"][0]["progress"] for _, _, params in rpc.calls], [1, 3])

    @virtual
    async def test_only_the_first_outcome_counts(self) -> None:
        leases = self.start(FakeRpc(extended))
        lease = leases.hold(task(1), {})
        lease.nack("x" * 5_000, retry_in=1.5)
        lease.ack()
        leases.release_all()
        self.assertEqual(len(self.outcomes), 1)
        self.assertEqual(self.outcomes[0].method, "tasks.nack")
        self.assertEqual(len(self.outcomes[0].item["error"]), 4_096)
        self.assertEqual(self.outcomes[0].item["retry_in_ms"], 1_500)

    @virtual
    async def test_two_leases_of_one_task_are_separate(self) -> None:
        leases = self.start(FakeRpc(extended))
        first = leases.hold({**task(1), "task_id": "same"}, {})
        second = leases.hold({**task(2), "task_id": "same"}, {})
        first.end()
        second.ack()
        self.assertEqual(self.outcomes[0].item, {"task_id": "same", "token": 2})
