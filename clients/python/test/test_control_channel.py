"""Tests the control channel against a real WebSocket server on this machine."""

import asyncio
import json
import unittest
from typing import Any

import aiohttp
from aiohttp import web

from muster_worker.control_channel import ChannelDeps, ControlChannel
from muster_worker.outbox import Outbox

from .fixtures import RecordedLog


class Peer:
    """A master that closes each connection with the next code of `codes`, after `register`; then it serves."""

    def __init__(self, *codes: int) -> None:
        self.codes = list(codes)
        self.tokens: list[str | None] = []
        self.frames: list[dict[str, Any]] = []
        self.sockets: list[web.WebSocketResponse] = []
        self.closings: list[int | None] = []
        self.port = 0
        self.features = ""

    async def start(self) -> None:
        app = web.Application()
        app.add_routes([web.get("/", self._serve)])
        self.runner = web.AppRunner(app)
        await self.runner.setup()
        site = web.TCPSite(self.runner, "127.0.0.1", 0)
        await site.start()
        self.port = self.runner.addresses[0][1]

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        self.tokens.append(request.headers.get("authorization"))
        if self.codes and self.codes[0] == 503:
            self.codes.pop(0)
            return web.Response(status=503, headers={"retry-after": "2"})
        socket = web.WebSocketResponse(autoclose=False)
        socket.headers["muster-features"] = self.features
        await socket.prepare(request)
        self.sockets.append(socket)
        if self.codes:
            await socket.receive()
            await socket.close(code=self.codes.pop(0), message=b"as the test wants")
            return socket
        async for message in socket:
            if message.type == aiohttp.WSMsgType.TEXT:
                frame = json.loads(message.data)
                self.frames.append(frame)
                if frame["type"] == "ping":
                    await socket.send_str(message.data)
        self.closings.append(socket.close_code)
        await socket.close()
        return socket


class ControlChannelTest(unittest.IsolatedAsyncioTestCase):
    async def start(self, peer: Peer, labels: dict[str, str] | None = None) -> None:
        await peer.start()
        self.opened, self.rejected = asyncio.Event(), list[str]()
        self.received: list[dict[str, Any]] = []
        self.token = "first"
        self.log = RecordedLog()
        log = self.log.log
        reports = {"state": lambda: '{"type":"state"}', "stats": lambda: '{"type":"stats"}'}
        self.outbox = Outbox(log, reports)
        deps = ChannelDeps(
            url=f"http://127.0.0.1:{peer.port}/",
            token=self._next_token,
            register=lambda: {"worker_id": "w-1"},
            labels=labels or {},
            outbox=self.outbox,
            on_open=self.opened.set,
            on_close=self.opened.clear,
            on_frame=self.received.append,
            on_rejected=self.rejected.append,
        )
        self.channel = ControlChannel(log, deps)
        self.running = asyncio.create_task(self.channel.run())
        self.addAsyncCleanup(self._stop, peer)

    def _next_token(self) -> str:
        token, self.token = self.token, "rotated"
        return token

    async def _stop(self, peer: Peer) -> None:
        await self.channel.close(orderly=True)
        await self.running
        await peer.runner.cleanup()

    async def test_registers_first_and_reports_only_after_its_ping_came_back(self) -> None:
        peer = Peer()
        await self.start(peer)
        self.outbox.output(0, {"n": 1})
        async with asyncio.timeout(10):
            await self.opened.wait()
            await self.outbox.idle()
            while len(peer.frames) < 5:
                await asyncio.sleep(0.01)
        self.assertEqual(peer.frames[0], {"type": "register", "protocol_version": 1, "worker_id": "w-1"})
        self.assertEqual([frame["type"] for frame in peer.frames], ["register", "ping", "state", "stats", "output"])
        self.assertEqual(peer.tokens, ["Bearer first"])

    async def test_closes_with_4100_only_at_an_orderly_end(self) -> None:
        for orderly, code in ((True, 4100), (False, 1000)):
            peer = Peer()
            await self.start(peer)
            async with asyncio.timeout(10):
                await self.opened.wait()
                await self.channel.close(orderly=orderly)
                while not peer.closings:
                    await asyncio.sleep(0.01)
            self.assertEqual(peer.closings, [code])

    async def test_sends_labels_to_a_master_that_knows_them(self) -> None:
        peer = Peer()
        peer.features = "stream, labels"
        await self.start(peer, {"zone": "eu-1"})
        async with asyncio.timeout(10):
            await self.opened.wait()
        self.assertEqual(peer.frames[0]["labels"], {"zone": "eu-1"})

    async def test_connects_to_an_older_master_without_labels(self) -> None:
        peer = Peer()
        peer.features = "stream"
        await self.start(peer, {"zone": "eu-1"})
        async with asyncio.timeout(10):
            await self.opened.wait()
        self.assertNotIn("labels", peer.frames[0])
        self.assertEqual(
            self.log.messages("warn"),
            ["the master is of a release that does not know worker labels: connecting without them"],
        )

    async def test_passes_on_frames_ignores_invalid_ones_and_registers_again(self) -> None:
        peer = Peer()
        await self.start(peer)
        async with asyncio.timeout(10):
            await self.opened.wait()
            await peer.sockets[0].send_str("no json")
            await peer.sockets[0].send_str('{"type":"drain"}')
            while not self.received:
                await asyncio.sleep(0.01)
            self.channel.reconnect("a test")
            while len(peer.sockets) < 2 or not self.opened.is_set():
                await asyncio.sleep(0.01)
        self.assertEqual(self.received, [{"type": "drain"}])
        self.assertEqual([frame["type"] for frame in peer.frames].count("register"), 2)

    async def test_reads_the_token_again_after_4401(self) -> None:
        peer = Peer(4401)
        await self.start(peer)
        async with asyncio.timeout(10):
            await self.opened.wait()
        self.assertEqual(peer.tokens, ["Bearer first", "Bearer rotated"])

    async def test_does_not_connect_before_retry_after(self) -> None:
        peer = Peer(503)
        await self.start(peer)
        started = asyncio.get_running_loop().time()
        async with asyncio.timeout(10):
            await self.opened.wait()
        self.assertGreaterEqual(asyncio.get_running_loop().time() - started, 2)

    async def test_does_not_reconnect_after_4000(self) -> None:
        peer = Peer(4000)
        await self.start(peer)
        async with asyncio.timeout(10):
            await self.running
        self.assertEqual(len(self.rejected), 1)
        self.assertIn("protocol version 1 (as the test wants)", self.rejected[0])
