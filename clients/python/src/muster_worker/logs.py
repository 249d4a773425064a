"""Writes the log of a worker process to stdout, one line per event, in the format text or json of the master."""

import json
import re
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Protocol, TextIO

LEVELS = ("debug", "info", "warn", "error")
_MAX_FIELD_CHARS = 8_192
_QUIET_SECONDS = 60
_MAX_KEYS = 10_000
_RESERVED = frozenset({"time", "level", "message"})
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


class Write(Protocol):
    """Writes one line."""

    def __call__(self, level: str, message: str, fields: dict[str, Any]) -> None:
        """Writes it."""


class Log:
    """A log with bound fields. Each method takes a message and fields: `log.info("fetched", url=url)`."""

    def __init__(self, write: Write, fields: dict[str, Any] | None = None) -> None:
        self._write = write
        self._fields = fields or {}

    def bind(self, **fields: Any) -> "Log":
        """Returns a log whose lines also have these fields."""
        return Log(self._write, {**self._fields, **fields})

    def through(self, change: Callable[[Any], Any]) -> "Log":
        """Returns a log that passes each message and each field through `change` first, for example to mask secrets."""
        write = self._write

        def changed(level: str, message: str, fields: dict[str, Any]) -> None:
            write(level, change(message), {key: change(value) for key, value in fields.items()})

        return Log(changed, self._fields)

    def throttled(self) -> "Log":
        """Returns a log that writes the same warning or error at most once a minute."""
        return Log(_Throttle(self._write), self._fields)

    def debug(self, message: str, **fields: Any) -> None:
        """Logs at level debug."""
        self._write("debug", message, {**self._fields, **fields})

    def info(self, message: str, **fields: Any) -> None:
        """Logs at level info."""
        self._write("info", message, {**self._fields, **fields})

    def warn(self, message: str, **fields: Any) -> None:
        """Logs at level warn."""
        self._write("warn", message, {**self._fields, **fields})

    def error(self, message: str, **fields: Any) -> None:
        """Logs at level error."""
        self._write("error", message, {**self._fields, **fields})


class _Throttle:
    """Suppresses a warning that was written within the last minute, and counts how often."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self._known: dict[tuple[str, str, str], list[float]] = {}

    def __call__(self, level: str, message: str, fields: dict[str, Any]) -> None:
        if level in ("debug", "info"):
            return self._write(level, message, fields)
        key = (message, str(fields.get("error")), str(fields.get("task_id")))
        now = time.monotonic()
        known = self._known.pop(key, None)
        if known is not None and now < known[0]:
            self._known[key] = [known[0], known[1] + 1]
            return None
        self._known[key] = [now + _QUIET_SECONDS, 0]
        if len(self._known) > _MAX_KEYS:
            del self._known[next(iter(self._known))]
        suppressed = {"suppressed": int(known[1])} if known is not None and known[1] > 0 else {}
        return self._write(level, message, {**fields, **suppressed})


def create_log(level: str, form: str, stream: TextIO | None = None) -> Log:
    """Creates the log of the process. `form` is text or json; lines below `level` are not written."""
    least = LEVELS.index(level)
    line = _json_line if form == "json" else _text_line

    def write(level: str, message: str, fields: dict[str, Any]) -> None:
        if LEVELS.index(level) < least:
            return
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        cleaned = {f"_{key}" if key in _RESERVED else key: _plain(value) for key, value in fields.items()}
        out = stream or sys.stdout
        out.write(line(now, level, _cut(message), cleaned) + "\n")  # One call, so that lines of threads do not mix.
        out.flush()

    return Log(write)


def _json_line(now: str, level: str, message: str, fields: dict[str, Any]) -> str:
    return _escape(json.dumps({"time": now, "level": level, "message": message, **fields}, ensure_ascii=False))


def _text_line(now: str, level: str, message: str, fields: dict[str, Any]) -> str:
    pairs = "".join(f" {key}={_shown(value)}" for key, value in fields.items())
    return _escape(f"{now} {level:<5} {message}{pairs}")


def _shown(value: Any) -> str:
    if isinstance(value, str) and re.fullmatch(r'[^\s"=]+', value):
        return value
    return json.dumps(value, ensure_ascii=False)


def _plain(value: Any) -> Any:
    """Converts a value to one that JSON can contain, cut to its bound."""
    if isinstance(value, BaseException):
        return _cut(f"{type(value).__name__}: {value}")
    if isinstance(value, str):
        return _cut(value)
    try:
        text = json.dumps(value, default=str)
    except (TypeError, ValueError, RecursionError):
        return "[not serialisable]"
    return _cut(text) if len(text) > _MAX_FIELD_CHARS else json.loads(text)


def _cut(text: str) -> str:
    if len(text) <= _MAX_FIELD_CHARS:
        return text
    return f"{text[:_MAX_FIELD_CHARS]}…[cut, {len(text)} characters]"


def _escape(text: str) -> str:
    return _CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
