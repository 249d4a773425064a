"""Subscribes runs to bus topics: one server-sent event stream per topic, shared by all slots that listen to it.

The bus stores nothing (D23), so messages published while the stream is disconnected are lost. A listener that reads too
slowly loses its oldest messages.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import aiohttp

from .backoff import Backoff, RefusalLimiter, is_refusal, monotonic, parse_retry_after
from .logs import Log

_SILENCE_SECONDS = 45
_MAX_QUEUED = 1_000


class BusClient:
    """The subscriptions of one worker."""

    def __init__(self, log: Log, bus_url: str, token: Callable[[], str], refusals: RefusalLimiter) -> None:
        self._log, self._bus_url, self._token, self._refusals = log, bus_url, token, refusals
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None))
        self._topics: dict[str, tuple[asyncio.Task[None], set[asyncio.Queue[Any]]]] = {}

    async def subscribe(self, topic: str) -> AsyncIterator[Any]:
        """Yields the messages published on `topic` during the iteration."""
        queue: asyncio.Queue[Any] = asyncio.Queue()
        if topic not in self._topics:
            queues: set[asyncio.Queue[Any]] = set()
            self._topics[topic] = (asyncio.create_task(self._follow(topic, queues)), queues)
        task, queues = self._topics[topic]
        queues.add(queue)
        try:
            while True:
                yield await queue.get()
        finally:
            queues.discard(queue)
            if not queues:
                task.cancel()
                if self._topics.get(topic) == (task, queues):
                    del self._topics[topic]

    async def close(self) -> None:
        """Ends all subscriptions."""
        for task, _ in self._topics.values():
            task.cancel()
        await self._session.close()

    async def _follow(self, topic: str, queues: set[asyncio.Queue[Any]]) -> None:
        backoff = Backoff(0.5, 30.0)

        def deliver(message: Any) -> None:
            backoff.reset()
            for queue in queues:
                queue.put_nowait(message)
                if queue.qsize() > _MAX_QUEUED:
                    queue.get_nowait()
                    self._log.warn(
                        "a slot does not read its bus messages fast enough: dropping the oldest", topic=topic
                    )

        while True:
            try:
                await self._read(topic, deliver)
            except (aiohttp.ClientError, OSError, ValueError, TimeoutError) as error:
                self._log.warn("bus subscription lost, retrying", topic=topic, error=str(error))
            await asyncio.sleep(backoff.next_seconds())

    async def _read(self, topic: str, deliver: Callable[[Any], None]) -> None:
        await self._refusals.turn()
        headers = {"accept": "text/event-stream", "authorization": f"Bearer {self._token()}"}
        async with (
            asyncio.timeout(_SILENCE_SECONDS) as silence,
            self._session.get(self._bus_url, params={"topic": topic}, headers=headers) as response,
        ):
            if is_refusal(response.status):
                self._refusals.refused(parse_retry_after(response.headers.get("retry-after")))
            else:
                self._refusals.served()
            if response.status != 200:
                raise ValueError(f"the master returned HTTP {response.status}")
            async for line in _lines_of(response):
                silence.reschedule(monotonic() + _SILENCE_SECONDS)
                if line.startswith(b"data:"):  # The master sends each event as one line of data.
                    deliver(json.loads(line[5:])["message"])


async def _lines_of(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    rest = b""
    async for chunk in response.content.iter_any():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line
