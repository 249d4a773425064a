"""Buffers and sends, in order, everything that the control channel sends after `register`.

  output ─▶ open frame ──10 ms, or full──▶ sealed frames ──▶ socket        1,024 frames, 16 MiB; oldest evicted
  state, stats ─▶ "due" ─────── made at the moment of sending ──▶ socket   newest only, not counted in the bound

A frame that the socket accepted is never sent again, so an output arrives at most once (G10). Outcomes of tasks do not
use the outbox (G11); see outcome_queue.py.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from .limits import MAX_BUFFERED_BYTES, MAX_BUFFERED_FRAMES, MAX_FRAME_BYTES, MAX_OUTPUTS_PER_FRAME, to_json
from .logs import Log

_GROUP_SECONDS = 0.01
_HEAD, _TAIL = '{"type":"output_batch","outputs":[', "]}"
_FRAME_BYTES = len(_HEAD) + len(_TAIL)


class Outbox:
    """`reports` creates the frames of which only the newest matters: state and stats."""

    def __init__(self, log: Log, reports: Mapping[str, Callable[[], str]], max_frames: int = MAX_BUFFERED_FRAMES):
        self._log = log
        self._reports = reports
        self._max_frames = max_frames
        self._sealed: deque[tuple[str, int, int]] = deque()  # Text, bytes, number of outputs.
        self._due: dict[str, None] = {}
        self._entries: list[str] = []
        self._open_bytes = self._sealed_bytes = 0
        self._grouping: asyncio.TimerHandle | None = None
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self.outputs_evicted = 0

    @property
    def frames(self) -> int:
        """Number of waiting frames, including the open one."""
        return len(self._sealed) + (1 if self._entries else 0)

    def output(self, slot_id: int, payload: Mapping[str, Any]) -> None:
        """Buffers one output. Raises ValueError when it is larger than a frame."""
        entry = to_json({"slot_id": slot_id, "ts": time.time(), "payload": payload})
        size = len(entry.encode()) + 1
        if _FRAME_BYTES + size > MAX_FRAME_BYTES:
            raise ValueError(
                f"the output has {size} bytes as JSON, and the maximum is {MAX_FRAME_BYTES}; "
                "emit it in parts, or emit a reference to it"
            )
        if _FRAME_BYTES + self._open_bytes + size > MAX_FRAME_BYTES:
            self._seal()
        self._entries.append(entry)
        self._open_bytes += size
        if len(self._entries) >= MAX_OUTPUTS_PER_FRAME:
            self._seal()
        self._evict_excess()
        if self._grouping is None:
            self._grouping = asyncio.get_running_loop().call_later(_GROUP_SECONDS, self._grouped)

    def report(self, name: str) -> None:
        """Requests a state or stats frame. Requests before it can be sent are combined into one."""
        self._due[name] = None
        self._wake.set()

    async def send_to(self, send: Callable[[str], Awaitable[None]]) -> None:
        """Sends to a registered connection until it breaks: state and stats first, then the waiting outputs."""
        self._due = dict.fromkeys(self._reports)
        while True:
            self._wake.clear()
            while (text := self._next()) is not None:
                await send(text)
            self._idle.set()
            await self._wake.wait()

    async def idle(self) -> None:
        """Returns when nothing waits and the socket has accepted everything."""
        self._idle.clear()
        self._wake.set()
        while True:
            await self._idle.wait()
            if self.frames == 0:
                return
            self._idle.clear()

    def _grouped(self) -> None:
        self._grouping = None
        self._wake.set()

    def _next(self) -> str | None:
        if self._due:
            name = next(iter(self._due))
            del self._due[name]
            return self._reports[name]()
        if not self._sealed:
            self._seal()
        if not self._sealed:
            return None
        text, size, _ = self._sealed.popleft()
        self._sealed_bytes -= size
        return text

    def _seal(self) -> None:
        if not self._entries:
            return
        single = len(self._entries) == 1
        text = f'{{"type":"output",{self._entries[0][1:]}' if single else f"{_HEAD}{','.join(self._entries)}{_TAIL}"
        size = _FRAME_BYTES + self._open_bytes
        self._sealed.append((text, size, len(self._entries)))
        self._sealed_bytes += size
        self._entries = []
        self._open_bytes = 0

    def _evict_excess(self) -> None:
        while self.frames > self._max_frames or self._sealed_bytes + self._open_bytes > MAX_BUFFERED_BYTES:
            if not self._sealed:
                return
            _, size, outputs = self._sealed.popleft()
            self._sealed_bytes -= size
            self.outputs_evicted += outputs
            self._log.warn(
                "output buffer full: dropping the oldest outputs until the master is reachable",
                outputs_evicted=self.outputs_evicted,
            )
