"""Tests how a worker reserves with streams, and when it uses long polls instead (D125)."""

import asyncio
import unittest
from collections.abc import Callable, Mapping
from typing import Any

from muster_worker.config import DEFAULTS
from muster_worker.errors import RpcError
from muster_worker.lease import Settlement
from muster_worker.leases import Leases
from muster_worker.line_reader import Tasks
from muster_worker.signals import StopSignal
from muster_worker.tasks import TaskFeed

from .fixtures import UNAVAILABLE, FakeRpc, RecordedLog, task, virtual


class Stream:
    """A stream that the worker opened; a test decides what arrives on it, and how it ends."""

    def __init__(
        self, params: Mapping[str, Any], on_tasks: Callable[[Tasks], None], on_alive: Callable[[], None]
    ) -> None:
        self.limit, self.poll_id = params["limit"], params["poll_id"]
        self.alive = on_alive
        self._on_tasks = on_tasks
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def give(self, *tokens: int) -> None:
        self._on_tasks([task(token) for token in tokens])

    async def end(self, error: RpcError | None = None) -> None:
        if error is None:
            self.ended.set_result(None)
        else:
            self.ended.set_exception(error)
        await asyncio.sleep(0.001)


class StreamingRpc(FakeRpc):
    """Its long polls return nothing after their time."""

    def __init__(self) -> None:
        super().__init__(lambda *_: {"tasks": []})
        self.streams: list[Stream] = []

    async def call(self, method: str, params: Mapping[str, Any], timeout: float = 15.0) -> Any:
        self.delay = params["wait_ms"] / 1_000
        return await super().call(method, params, timeout)

    async def stream(
        self, params: Mapping[str, Any], on_tasks: Callable[[Tasks], None], on_alive: Callable[[], None], first: float
    ) -> None:
        stream = Stream(params, on_tasks, on_alive)
        self.streams.append(stream)
        await stream.ended


class TaskStreamsTest(unittest.TestCase):
    def start(self, slots: int, *offered: str) -> None:
        self.rpc, self.log = StreamingRpc(), RecordedLog()
        self.outcomes: list[Settlement] = []
        self.taken: list[str] = []
        leases = Leases(self.log.log, self.rpc.client, 60, self.outcomes.append)
        self.feed = TaskFeed(
            self.log.log, self.rpc.client, leases, lambda: DEFAULTS, lambda _: None, lambda name: name in offered
        )
        self.feed.set_slots(slots)
        self.takes = [self.take() for _ in range(slots)]

    def take(self) -> asyncio.Task[None]:
        async def take() -> None:
            lease = await self.feed.take(StopSignal())
            if lease is not None:
                self.taken.append(lease.id)

        return asyncio.create_task(take())

    async def running(self, slots: int) -> Stream:
        """Returns a stream for all slots, after the first line of one has arrived."""
        self.start(slots, "stream")
        await self.settle()
        self.rpc.streams[0].alive()
        await self.rpc.streams[0].end()
        return self.rpc.streams[1]

    async def settle(self) -> None:
        await asyncio.sleep(0.001)

    def limits(self) -> list[int]:
        return [stream.limit for stream in self.rpc.streams]

    @virtual
    async def test_is_opened_for_one_task_and_for_all_slots_when_its_first_line_has_arrived(self) -> None:
        self.start(4, "stream")
        await self.settle()
        self.assertEqual(self.limits(), [1])
        self.rpc.streams[0].alive()
        await self.settle()
        self.assertEqual(self.limits(), [1, 4])
        self.assertEqual(len({stream.poll_id for stream in self.rpc.streams}), 1)
        self.assertEqual(self.rpc.calls, [])

    @virtual
    async def test_is_replaced_when_less_than_half_of_the_wanted_tasks_may_still_arrive(self) -> None:
        stream = await self.running(4)
        for token in (1, 2):
            stream.give(token)
            await self.settle()
            self.takes.append(self.take())
        await self.settle()
        self.assertEqual((self.taken, self.limits()), (["t-1", "t-2"], [1, 4]))
        stream.give(3)
        await self.settle()
        self.takes.append(self.take())
        await self.settle()
        self.assertEqual((self.taken[2:], self.limits()[2:]), (["t-3"], [3]))
        await stream.end()
        self.assertEqual((len(self.rpc.streams), self.log.lines), (3, []))

    @virtual
    async def test_is_opened_again_after_its_end_and_after_a_pause_if_it_ended_early(self) -> None:
        await (await self.running(4)).end()
        self.assertEqual(len(self.rpc.streams), 2)
        await asyncio.sleep(1)
        self.assertEqual(len(self.rpc.streams), 3)
        await asyncio.sleep(25)
        await self.rpc.streams[2].end()
        self.assertEqual(len(self.rpc.streams), 4)

    @virtual
    async def test_is_ended_with_a_poll_of_its_name_when_no_slot_can_take_its_tasks(self) -> None:
        stream = await self.running(4)
        self.feed.set_slots(0)
        stream.give(*range(10))
        await self.settle()
        polls = [dict(params) for _, _, params in self.rpc.calls]
        self.assertEqual(polls, [{"limit": 1, "wait_ms": 0, "poll_id": stream.poll_id}])
        self.assertEqual([each.method for each in self.outcomes], ["tasks.release"] * 6)

    @virtual
    async def test_is_ended_with_a_poll_of_its_name_when_the_worker_stops(self) -> None:
        stream = await self.running(4)
        stopped = asyncio.create_task(self.feed.stop(1))
        await self.settle()
        self.assertEqual([params["wait_ms"] for _, _, params in self.rpc.calls], [0])
        stream.give(7)
        await stream.end()
        await stopped
        self.assertEqual([(each.method, each.item["token"]) for each in self.outcomes], [("tasks.release", 7)])

    @virtual
    async def test_that_does_not_end_is_cancelled_after_the_grace_of_a_stop(self) -> None:
        stream = await self.running(4)
        await self.feed.stop(1)
        self.assertTrue(stream.ended.cancelled())

    @virtual
    async def test_is_retried_with_backoff_when_its_connection_breaks(self) -> None:
        await (await self.running(4)).end(UNAVAILABLE)
        self.assertEqual(len(self.rpc.streams), 2)
        self.assertEqual(self.log.messages("warn"), ["failed to reserve tasks, retrying"])
        await asyncio.sleep(1)
        self.assertEqual(len(self.rpc.streams), 3)

    @virtual
    async def test_long_polls_are_used_while_the_master_offers_no_streams(self) -> None:
        self.start(2)
        await self.settle()
        self.assertEqual((self.limits(), [params["limit"] for _, _, params in self.rpc.calls]), ([], [2]))

    @virtual
    async def test_long_polls_are_used_for_60_s_after_a_master_rejected_a_stream(self) -> None:
        self.start(2, "stream")
        await self.settle()
        await self.rpc.streams[0].end(RpcError("invalid_params", "params/stream: must not be present"))
        self.assertEqual((len(self.rpc.streams), len(self.rpc.calls), self.log.lines), (1, 1, []))
        await asyncio.sleep(60)
        self.assertEqual((len(self.rpc.streams), len(self.rpc.calls)), (1, 3))
        await asyncio.sleep(25)
        self.assertEqual((len(self.rpc.streams), len(self.rpc.calls)), (2, 3))

    @virtual
    async def test_long_polls_are_used_for_10_minutes_after_no_line_arrived_which_is_logged(self) -> None:
        self.start(2, "stream")
        await self.settle()
        await self.rpc.streams[0].end(RpcError("unavailable", "no line of a stream arrived", {"is_silent": True}))
        warning = "streams of tasks do not arrive, using long polls for 10 minutes: a proxy may buffer responses"
        self.assertEqual(self.log.messages("warn"), [warning])
        await asyncio.sleep(599)
        self.assertEqual((len(self.rpc.streams), len(self.rpc.calls)), (1, 24))
        await asyncio.sleep(2)
        self.assertEqual(len(self.rpc.streams), 2)
