"""Tests how the rpc client reads the stream of a reserve, from a server that sends each chunk by itself (D125)."""

import asyncio
import json
import unittest
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from muster_worker.backoff import RefusalLimiter
from muster_worker.errors import RpcError
from muster_worker.rpc_client import RpcClient

Respond = Callable[[web.Request, int], Awaitable[web.StreamResponse]]


def leased(*ids: str) -> bytes:
    params = {"id": 1, "tasks": [{"task_id": each} for each in ids]}
    return (
        json.dumps({"jsonrpc": "2.0", "method": "tasks.leased", "params": params}, ensure_ascii=False).encode() + b"\n"
    )


def ended(call_id: int, *ids: str) -> bytes:
    result = {"tasks": [{"task_id": each} for each in ids]}
    return json.dumps({"jsonrpc": "2.0", "id": call_id, "result": result}).encode() + b"\n"


def lines(*chunks: bytes, ends: bool = True, breaks: bool = False) -> Respond:
    async def respond(request: web.Request, call_id: int) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "application/x-ndjson"})
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
            await asyncio.sleep(0.001)
        if breaks and request.transport is not None:
            request.transport.abort()
        if not ends:
            await asyncio.sleep(30)
        return response

    return respond


class RpcStreamTest(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.respond = lines()
        self.requests: list[tuple[str, Any]] = []
        app = web.Application()
        app.add_routes([web.post("/rpc", self.serve)])
        self.runner = web.AppRunner(app, shutdown_timeout=0.01)
        await self.runner.setup()
        await web.TCPSite(self.runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{self.runner.addresses[0][1]}/rpc"
        self.client = RpcClient(url, lambda: "token", RefusalLimiter(), 4)
        self.seen: list[str] = []

    async def asyncTearDown(self) -> None:
        await self.client.close()
        await self.runner.cleanup()

    async def serve(self, request: web.Request) -> web.StreamResponse:
        [call] = await request.json()
        self.requests.append((request.headers["accept"], call["params"]))
        return await self.respond(request, call["id"])

    async def open(self, respond: Respond, first_line: float = 5.0) -> RpcError | None:
        """Returns the error that the stream ended with."""
        self.respond = respond

        def on_tasks(tasks: list[dict[str, Any]]) -> None:
            self.seen += [task["task_id"] for task in tasks]

        try:
            await self.client.stream({"limit": 9}, on_tasks, lambda: self.seen.append("alive"), first_line)
        except RpcError as error:
            return error
        return None

    async def test_delivers_the_tasks_of_each_line_wherever_the_chunks_are_cut(self) -> None:
        text = b"\n" + leased("a") + b"\n" + leased("é€😀", "c") + ended(1, "d")
        self.assertIsNone(await self.open(lines(*(bytes([byte]) for byte in text))))
        self.assertEqual(self.seen, ["alive", "a", "é€😀", "c", "d"])
        self.assertEqual(self.requests, [("application/x-ndjson", {"limit": 9, "stream": True})])
        self.assertGreater(self.client.served_at, 1_000_000_000)

    async def test_reads_a_line_of_many_megabytes(self) -> None:
        large = "x" * 5_000_000
        self.assertIsNone(await self.open(lines(leased(large), ended(1))))
        self.assertEqual([len(each) for each in self.seen], [5, len(large)])

    async def test_that_gets_no_line_in_time_is_silent(self) -> None:
        error = await self.open(lines(ends=False), 0.2)
        self.assertEqual((error and error.code, error and error.data["is_silent"]), ("unavailable", True))

    async def test_stays_open_while_lines_arrive_and_its_age_counts_as_time_of_the_master(self) -> None:
        async def respond(request: web.Request, call_id: int) -> web.StreamResponse:
            headers = {"content-type": "application/x-ndjson", "date": "Sat, 01 Jan 2000 00:00:00 GMT"}
            response = web.StreamResponse(headers=headers)
            await response.prepare(request)
            await response.write(b"\n")
            await asyncio.sleep(0.5)
            await response.write(ended(call_id, "late"))
            return response

        self.assertIsNone(await self.open(respond, 0.3))
        self.assertEqual(self.seen, ["alive", "late"])
        self.assertAlmostEqual(self.client.served_at - 946_684_800, 0.5, delta=0.4)
        self.assertGreater(self.client.served_at - 946_684_800, 0.4)

    async def test_that_breaks_delivers_what_arrived_and_ends_with_an_error(self) -> None:
        for respond in (lines(leased("a")), lines(leased("b"), leased("c")[:20], breaks=True), lines(b"\n{\n")):
            error = await self.open(respond)
            self.assertEqual((error and error.code, error and error.data.get("is_silent")), ("unavailable", None))
        self.assertEqual(self.seen, ["alive", "a", "alive", "b", "alive"])

    async def test_has_the_error_of_a_master_that_does_not_know_streams_or_refuses_the_request(self) -> None:
        async def rejects(request: web.Request, call_id: int) -> web.Response:
            fault = {"code": -32_602, "message": "params/stream: must not be present", "data": {}}
            return web.json_response([{"jsonrpc": "2.0", "id": call_id, "error": fault}])

        async def refuses(request: web.Request, call_id: int) -> web.Response:
            return web.Response(status=503, headers={"retry-after": "2"}, text='{"detail":"busy"}')

        error = await self.open(rejects)
        self.assertEqual((error and error.code, str(error)), ("invalid_params", "params/stream: must not be present"))
        error = await self.open(refuses)
        data = error.data if error is not None else {}
        self.assertEqual((data.get("status"), data.get("retry_after_seconds")), (503, 2.0))
