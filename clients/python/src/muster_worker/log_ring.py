"""Keeps the newest log entries of the worker in memory, for reads by the master (D181).

  run's log, worker's log ──▶ stdout
                         └──▶ ring: 5,000 entries, 1 MiB, 16 KiB each ──read_logs──▶ logs frame

An entry is kept as its line was written: from the log level on, and after its secrets were masked. It becomes JSON text
immediately, so that the ring keeps no object of a run alive and its size is known. Runs log from any thread.
"""

import json
import re
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .limits import (
    LOG_RING_BYTES,
    LOG_RING_ENTRIES,
    MAX_LOG_ENTRIES_PER_READ,
    MAX_LOG_ENTRY_BYTES,
    MAX_LOG_READ_BYTES,
    to_json,
)
from .logs import LEVELS, MAX_FIELD_CHARS, Fields, cut, described

_SHORT_CHARS = 1_000
_MAX_DEPTH = 16
_ENTRIES_PER_MS = 1_000  # Sequence numbers of a process begin at its start in milliseconds times this.
_SEQ_BYTES = len('{"seq":,') + 16
_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[][{}]')


@dataclass(frozen=True)
class _Entry:
    """`text` is the JSON of the wire, as UTF-8."""

    seq: int
    severity: int
    task_id: str | None
    text: bytes


@dataclass(frozen=True)
class _Query:
    """What a `read_logs` frame selects. `after` None: the newest entries."""

    id: str
    limit: int
    severity: int
    task_id: str | None
    after: int | None

    def matches(self, entry: _Entry) -> bool:
        return entry.severity >= self.severity and self.task_id in (None, entry.task_id)


class LogRing:
    """`now` returns unix seconds."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        started_ms = int(now() * 1_000)
        self._started_at = started_ms / 1_000
        self._first = self._next = max(1, started_ms * _ENTRIES_PER_MS)
        self._entries: deque[_Entry] = deque()
        self._bytes = 0
        self._lock = threading.Lock()

    @property
    def size(self) -> int:
        """Number of entries."""
        return len(self._entries)

    @property
    def byte_count(self) -> int:
        """Bytes of the entries, as JSON."""
        return self._bytes

    def add(self, level: str, message: object, fields: Fields, bound: Fields) -> None:
        """Adds an entry, and drops the oldest ones beyond the limits."""
        task_id = _text_or_none(bound.get("task_id", fields.get("task_id")))
        numbers = {name: _count_or_none(bound.get(name, fields.get(name))) for name in ("slot_id", "attempt")}
        ts = int(self._now() * 1_000) / 1_000
        head = {"ts": ts, "level": level, "slot_id": numbers["slot_id"], "task_id": task_id}
        rest = _entry_text(to_json({**head, "attempt": numbers["attempt"]})[1:-1], message, fields)
        with self._lock:  # Not while values become text: their own code may log.
            text = b'{"seq":%d,%b' % (self._next, rest)
            self._entries.append(_Entry(self._next, LEVELS.index(level), task_id, text))
            self._next += 1
            self._bytes += len(text)
            while self.size > LOG_RING_ENTRIES or self._bytes > LOG_RING_BYTES:
                self._bytes -= len(self._entries.popleft().text)

    def read(self, frame: dict[str, Any]) -> str | None:
        """Returns the `logs` frame in response to a `read_logs` frame; None if the frame is not valid."""
        query = _query_of(frame)
        if query is None:
            return None
        with self._lock:
            texts, last = self._newest(query) if query.after is None else self._behind(query, query.after)
            newest = self._next - 1
            missed = 0 if query.after is None else self._missed(query.after)
        head = to_json({"type": "logs", "id": query.id, "started_at": self._started_at})[:-1]
        tail = to_json({"next": last, "has_more": last < newest, "missed": missed})[1:]
        return f'{head},"entries":[{b",".join(texts).decode()}],{tail}'

    def _newest(self, query: _Query) -> tuple[list[bytes], int]:
        page = _Page(query.limit)
        for entry in reversed(self._entries):
            if query.matches(entry) and not page.add(entry):
                break
        return page.texts[::-1], self._next - 1

    def _behind(self, query: _Query, after: int) -> tuple[list[bytes], int]:
        page = _Page(query.limit)
        own = self._is_own(after)
        for entry in self._entries:
            if (own and entry.seq <= after) or not query.matches(entry):
                continue
            if not page.add(entry):
                return page.texts, entry.seq - 1
        return page.texts, self._next - 1

    def _is_own(self, seq: int) -> bool:
        """Whether a number is one of this process. A restart after the clock was set back has lower ones."""
        return self._first - 1 <= seq < self._next

    def _missed(self, after: int) -> int | None:
        if after != 0 and not self._is_own(after):
            return None
        oldest = self._entries[0].seq if self._entries else self._next
        return max(0, oldest - max(after + 1, self._first))


class _Page:
    """The entries of one response."""

    def __init__(self, limit: int) -> None:
        self.texts: list[bytes] = []
        self._limit, self._bytes = limit, 0

    def add(self, entry: _Entry) -> bool:
        """Adds an entry. Returns False if it does not fit."""
        if len(self.texts) >= self._limit or self._bytes + len(entry.text) > MAX_LOG_READ_BYTES:
            return False
        self.texts.append(entry.text)
        self._bytes += len(entry.text)
        return True


def _query_of(frame: dict[str, Any]) -> _Query | None:
    request, limit, after = frame.get("id"), frame.get("limit"), frame.get("after")
    level, task_id = frame.get("level", LEVELS[0]), frame.get("task_id")
    numbers = all(type(each) is int for each in (limit, after) if each is not None)
    if not isinstance(request, str) or not numbers or limit is None or limit < 1 or level not in LEVELS:
        return None
    return _Query(request, min(limit, MAX_LOG_ENTRIES_PER_READ), LEVELS.index(level), task_id, after)


def _entry_text(head: str, message: object, fields: Fields) -> bytes:
    """Returns the JSON of an entry behind its `seq`, with its texts cut until it fits. `head` are the other fields."""
    size = 0
    for chars in (MAX_FIELD_CHARS, _SHORT_CHARS):
        text = f'{head},"message":{_message_json(message, chars)},"fields":{_fields_json(fields, chars)}}}'.encode()
        size = len(text) + _SEQ_BYTES
        if size <= MAX_LOG_ENTRY_BYTES:
            return text
    note = to_json({"cut": f"{size} bytes of fields, above the limit of {MAX_LOG_ENTRY_BYTES}"})
    return f'{head},"message":{_message_json(message, _SHORT_CHARS)},"fields":{note}}}'.encode()


def _message_json(message: object, chars: int) -> str:
    return to_json(cut(message if isinstance(message, str) else _json(message), chars))


def _fields_json(fields: Fields, chars: int) -> str:
    return f"{{{','.join(f'{to_json(cut(name, chars))}:{_value_json(each, chars)}' for name, each in fields.items())}}}"


def _value_json(value: object, chars: int) -> str:
    """Returns JSON. A value that is long or deep becomes a string with the beginning of its JSON."""
    if isinstance(value, BaseException):
        value = described(value)
    if isinstance(value, str):
        return to_json(cut(value, chars))
    text = _json(value)
    return to_json(cut(text, chars)) if len(text) > chars or _is_deep(text) else text


def _json(value: object) -> str:
    try:
        if value is None or isinstance(value, int):
            return json.dumps(value)
        return to_json(json.loads(json.dumps(value, default=str), parse_constant=lambda _: None))
    except Exception:  # A cycle, or an object whose text cannot be read, must not fail the run.
        return '"[not serialisable]"'


def _is_deep(text: str) -> bool:
    depth = 0
    for match in _TOKENS.finditer(text):
        depth += 1 if match[0] in "[{" else -1 if match[0] in "]}" else 0
        if depth > _MAX_DEPTH:
            return True
    return False


def _text_or_none(value: object) -> str | None:
    return cut(value, _SHORT_CHARS) if isinstance(value, str) else None


def _count_or_none(value: object) -> int | None:
    return abs(value) if type(value) is int and abs(value) < 2**53 else None
