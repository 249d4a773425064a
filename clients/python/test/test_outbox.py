"""Tests the buffer of the control channel: order, bounds, and what a broken connection costs."""

import asyncio
import json
import unittest
from collections.abc import Callable
from typing import Any

from muster_worker.limits import MAX_BUFFERED_BYTES, MAX_FRAME_BYTES
from muster_worker.outbox import Outbox

from .fixtures import RecordedLog, virtual

REPORTS = {"state": lambda: '{"type":"state"}', "stats": lambda: '{"type":"stats"}'}


def outbox(max_frames: int = 1_024, can_name_tasks: Callable[[], bool] = lambda: False) -> Outbox:
    return Outbox(RecordedLog().log, REPORTS, max_frames, can_name_tasks)


class Socket:
    """Records frames, and breaks when it got `most` of them."""

    def __init__(self, most: int = 1_000_000) -> None:
        self.texts: list[str] = []
        self.most = most

    async def send(self, text: str) -> None:
        if len(self.texts) >= self.most:
            raise ConnectionResetError
        self.texts.append(text)

    @property
    def frames(self) -> list[dict[str, Any]]:
        return [json.loads(text) for text in self.texts]

    def numbers(self) -> list[int]:
        outputs: list[int] = []
        for frame in self.frames:
            entries = [frame] if frame["type"] == "output" else frame.get("outputs", [])
            outputs += [entry["payload"]["n"] for entry in entries]
        return outputs


class OutboxTest(unittest.TestCase):
    @virtual
    async def test_sends_state_and_stats_first_and_then_the_outputs_in_order(self) -> None:
        box, socket = outbox(), Socket()
        for n in range(2_500):
            box.output(0, {"n": n})
        asyncio.create_task(box.send_to(socket.send))
        await box.idle()
        types = [frame["type"] for frame in socket.frames]
        self.assertEqual(types, ["state", "stats", "output_batch", "output_batch", "output_batch"])
        self.assertEqual(socket.numbers(), list(range(2_500)))

    @virtual
    async def test_outputs_of_the_same_moment_share_a_frame(self) -> None:
        box, socket = outbox(), Socket()
        asyncio.create_task(box.send_to(socket.send))
        await asyncio.sleep(1)
        box.output(3, {"n": 1})
        box.output(3, {"n": 2})
        await asyncio.sleep(1)
        box.output(4, {"n": 3})
        await asyncio.sleep(1)
        self.assertEqual([frame["type"] for frame in socket.frames[2:]], ["output_batch", "output"])
        self.assertEqual(socket.frames[3]["slot_id"], 4)

    @virtual
    async def test_names_the_task_of_an_output_only_for_a_master_that_reads_it(self) -> None:
        named = False
        box, old, new = outbox(can_name_tasks=lambda: named), Socket(), Socket()
        sender = asyncio.create_task(box.send_to(old.send))
        box.output(3, {"n": 1}, "t-1")
        await box.idle()
        sender.cancel()
        box.output(3, {"n": 2}, 't-"2"')
        box.output(4, {"n": 3})
        named = True
        asyncio.create_task(box.send_to(new.send))
        await box.idle()
        self.assertNotIn("task_id", old.texts[-1])
        first, second = new.frames[-1]["outputs"]
        self.assertEqual((first["task_id"], first["slot_id"], first["payload"]), ('t-"2"', 3, {"n": 2}))
        self.assertNotIn("task_id", second)

    @virtual
    async def test_leaves_out_the_task_of_an_output_that_would_become_larger_than_a_frame(self) -> None:
        box, socket = outbox(can_name_tasks=lambda: True), Socket()
        box.output(0, {"n": 1, "pad": "x" * (MAX_FRAME_BYTES - 150)}, "t" * 256)
        asyncio.create_task(box.send_to(socket.send))
        await box.idle()
        self.assertLessEqual(len(socket.texts[-1].encode()), MAX_FRAME_BYTES)
        self.assertEqual((socket.frames[-1]["payload"]["n"], "task_id" in socket.frames[-1]), (1, False))

    @virtual
    async def test_responds_on_the_connection_of_the_request_and_keeps_four_responses_at_most(self) -> None:
        box, first, second = outbox(), Socket(), Socket()
        box.respond('{"type":"before the connection"}')
        sender = asyncio.create_task(box.send_to(first.send))
        await asyncio.sleep(1)
        for n in range(6):
            box.respond(f'{{"type":"logs","n":{n}}}')
        box.output(0, {"n": 1})
        await box.idle()
        self.assertEqual([frame.get("n") for frame in first.frames[2:]], [0, 1, 2, 3, None])
        box.respond('{"type":"late"}')
        sender.cancel()
        await asyncio.sleep(1)
        asyncio.create_task(box.send_to(second.send))
        await box.idle()
        self.assertEqual([frame["type"] for frame in second.frames], ["state", "stats"])

    @virtual
    async def test_drops_the_oldest_frames_beyond_the_bound_and_counts_their_outputs(self) -> None:
        box, socket = outbox(max_frames=3), Socket()
        for n in range(4_500):
            box.output(0, {"n": n})
        self.assertEqual((box.frames, box.outputs_evicted), (3, 2_000))
        asyncio.create_task(box.send_to(socket.send))
        await box.idle()
        self.assertEqual(socket.numbers(), list(range(2_000, 4_500)))

    @virtual
    async def test_keeps_1024_frames(self) -> None:
        box = outbox()
        big = "x" * 10_000
        for n in range(1_200):
            box.output(0, {"n": n, "text": big})
            box._seal()
        self.assertEqual((box.frames, box.outputs_evicted), (1_024, 176))

    @virtual
    async def test_keeps_16_mib(self) -> None:
        box = outbox()
        for n in range(40):
            box.output(0, {"n": n, "text": "x" * 900_000})
        self.assertLessEqual(box._sealed_bytes + box._open_bytes, MAX_BUFFERED_BYTES)
        self.assertEqual(box.frames + box.outputs_evicted, 40)

    @virtual
    async def test_rejects_an_output_larger_than_a_frame(self) -> None:
        box, socket = outbox(), Socket()
        with self.assertRaises(ValueError):
            box.output(0, {"text": "x" * MAX_FRAME_BYTES})
        box.output(0, {"n": 1, "text": "\u4e2d" * 300_000})
        box.output(0, {"n": 2, "text": "\u4e2d" * 300_000})
        asyncio.create_task(box.send_to(socket.send))
        await box.idle()
        self.assertTrue(all(len(text.encode()) <= MAX_FRAME_BYTES for text in socket.texts))
        self.assertEqual(socket.numbers(), [1, 2])

    @virtual
    async def test_sends_the_rest_on_the_next_connection_and_nothing_twice(self) -> None:
        box, first, second = outbox(), Socket(most=4), Socket()
        for n in range(4_500):
            box.output(0, {"n": n})
        sender = asyncio.create_task(box.send_to(first.send))
        await asyncio.wait({sender})
        self.assertIsInstance(sender.exception(), ConnectionResetError)
        asyncio.create_task(box.send_to(second.send))
        await box.idle()
        sent = first.numbers() + second.numbers()
        self.assertEqual(len(sent), len(set(sent)))
        self.assertEqual(sent, sorted(sent))
        self.assertEqual((first.numbers()[-1], second.numbers()[0], sent[-1]), (1_999, 3_000, 4_499))
