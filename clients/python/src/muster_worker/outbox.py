"""Buffers and sends, in order, everything that the control channel sends after `register`.

  output ─▶ open frame ──10 ms, or full──▶ sealed frames ──▶ socket        1,024 frames, 16 MiB; oldest evicted
  state, stats ─▶ "due" ─────── made at the moment of sending ──▶ socket   newest only, not counted in the bound
  response to the master ──────────── before all of them ───────▶ socket   4 at most, only on the same connection

A frame that the socket accepted is never sent again, so an output arrives at most once (G10). Outcomes of tasks do not
use the outbox (G11); see outcome_queue.py.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from .limits import (
    MAX_BUFFERED_BYTES,
    MAX_BUFFERED_FRAMES,
    MAX_FRAME_BYTES,
    MAX_LOG_READS,
    MAX_OUTPUTS_PER_FRAME,
    to_json,
)
from .logs import Log

_GROUP_SECONDS = 0.01
_HEAD, _TAIL = '{"type":"output_batch","outputs":[', "]}"
_FRAME_BYTES = len(_HEAD) + len(_TAIL)


class _Output(NamedTuple):
    """One output as JSON text, in parts: `{"slot_id":0,"ts":1`, `,"task_id":"a"` or nothing, `,"payload":{}}`."""

    start: str
    task: str
    end: str


class Outbox:
    """`reports` creates the frames of which only the newest matters: state and stats.

    `can_name_tasks` returns whether the master of the connection reads the task of an output (D188).
    """

    def __init__(
        self,
        log: Log,
        reports: Mapping[str, Callable[[], str]],
        max_frames: int = MAX_BUFFERED_FRAMES,
        can_name_tasks: Callable[[], bool] = lambda: False,
    ):
        self._log = log
        self._reports = reports
        self._max_frames = max_frames
        self._can_name_tasks = can_name_tasks
        self._sealed: deque[tuple[list[_Output], int]] = deque()  # With the bytes of the frame.
        self._due: dict[str, None] = {}
        self._responses: deque[str] = deque()
        self._is_sending = False
        self._entries: list[_Output] = []
        self._open_bytes = self._sealed_bytes = 0
        self._grouping: asyncio.TimerHandle | None = None
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self.outputs_evicted = 0

    @property
    def frames(self) -> int:
        """Number of waiting frames, including the open one."""
        return len(self._sealed) + (1 if self._entries else 0)

    def output(self, slot_id: int, payload: Mapping[str, Any], task_id: str | None = None) -> None:
        """Buffers one output. Raises ValueError when it is larger than a frame.

        `task_id` is the task of the run, left out of an output that would become larger than a frame.
        """
        start = to_json({"slot_id": slot_id, "ts": time.time()})[:-1]
        end = f',"payload":{to_json(payload)}}}'
        task = "" if task_id is None else f',"task_id":{to_json(task_id)}'
        size = len(start) + len(end.encode()) + 1
        if _FRAME_BYTES + size + len(task.encode()) > MAX_FRAME_BYTES:
            task = ""
        size += len(task.encode())
        if _FRAME_BYTES + size > MAX_FRAME_BYTES:
            raise ValueError(
                f"the output has {size} bytes as JSON, and the maximum is {MAX_FRAME_BYTES}; "
                "emit it in parts, or emit a reference to it"
            )
        if _FRAME_BYTES + self._open_bytes + size > MAX_FRAME_BYTES:
            self._seal()
        self._entries.append(_Output(start, task, end))
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

    def respond(self, text: str) -> None:
        """Sends a response to a frame. Drops it while the socket is behind: the master requests it again."""
        if self._is_sending and len(self._responses) < MAX_LOG_READS:
            self._responses.append(text)
            self._wake.set()

    async def send_to(self, send: Callable[[str], Awaitable[None]]) -> None:
        """Sends to a registered connection until it breaks: state and stats first, then the waiting outputs."""
        self._due = dict.fromkeys(self._reports)
        self._responses.clear()
        self._is_sending = True
        try:
            while True:
                self._wake.clear()
                while (text := self._next()) is not None:
                    await send(text)
                self._idle.set()
                await self._wake.wait()
        finally:
            self._is_sending = False

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
        if self._responses:
            return self._responses.popleft()
        if self._due:
            name = next(iter(self._due))
            del self._due[name]
            return self._reports[name]()
        if not self._sealed:
            self._seal()
        if not self._sealed:
            return None
        entries, size = self._sealed.popleft()
        self._sealed_bytes -= size
        return _frame_text(entries, self._can_name_tasks())

    def _seal(self) -> None:
        if not self._entries:
            return
        size = _FRAME_BYTES + self._open_bytes
        self._sealed.append((self._entries, size))
        self._sealed_bytes += size
        self._entries = []
        self._open_bytes = 0

    def _evict_excess(self) -> None:
        while self.frames > self._max_frames or self._sealed_bytes + self._open_bytes > MAX_BUFFERED_BYTES:
            if not self._sealed:
                return
            entries, size = self._sealed.popleft()
            self._sealed_bytes -= size
            self.outputs_evicted += len(entries)
            self._log.warn(
                "output buffer full: dropping the oldest outputs until the master is reachable",
                outputs_evicted=self.outputs_evicted,
            )


def _frame_text(entries: list[_Output], can_name_tasks: bool) -> str:
    """Returns the text of a frame, which depends on the master that receives it."""
    texts = [f"{start}{task if can_name_tasks else ''}{end}" for start, task, end in entries]
    return f'{{"type":"output",{texts[0][1:]}' if len(texts) == 1 else f"{_HEAD}{','.join(texts)}{_TAIL}"
