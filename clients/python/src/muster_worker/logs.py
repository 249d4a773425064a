"""Writes the log of a worker process to stdout, one line per event, in the format text or json of the master."""

import json
import re
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Protocol, TextIO

LEVELS = ("debug", "info", "warn", "error")
MAX_FIELD_CHARS = 8_192
_QUIET_SECONDS = 60
_MAX_KEYS = 10_000
_RESERVED = frozenset({"time", "level", "message"})
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


Fields = dict[str, Any]


class Write(Protocol):
    """Writes one line."""

    def __call__(self, level: str, message: str, fields: Fields, bound: Fields) -> None:
        """Writes it. `bound` are the fields of the log, `fields` those of this line, which win."""


class Log:
    """A log with bound fields. Each method takes a message and fields: `log.info("fetched", url=url)`.

    Lines below `level` are not written.
    """

    def __init__(self, write: Write, bound: Fields | None = None, level: str = "debug") -> None:
        self._write, self._bound, self._level = write, bound or {}, level

    def bind(self, **fields: Any) -> "Log":
        """Returns a log whose lines also have these fields."""
        return Log(self._write, {**self._bound, **fields}, self._level)

    def into(self, add: Write) -> "Log":
        """Returns a log that also passes each line to `add`, after it was written."""
        write = self._write

        def both(level: str, message: str, fields: Fields, bound: Fields) -> None:
            write(level, message, fields, bound)
            add(level, message, fields, bound)

        return Log(both, self._bound, self._level)

    def through(self, change: Callable[[Any], Any]) -> "Log":
        """Returns a log that passes each message and each field through `change` first, for example to mask secrets."""
        write = self._write

        def changed(level: str, message: str, fields: Fields, bound: Fields) -> None:
            every = [{key: change(value) for key, value in each.items()} for each in (fields, bound)]
            write(level, change(message), *every)

        return Log(changed, self._bound, self._level)

    def throttled(self) -> "Log":
        """Returns a log that writes the same warning or error at most once a minute."""
        return Log(_Throttle(self._write), self._bound, self._level)

    def debug(self, message: str, **fields: Any) -> None:
        """Logs at level debug."""
        self._log("debug", message, fields)

    def info(self, message: str, **fields: Any) -> None:
        """Logs at level info."""
        self._log("info", message, fields)

    def warn(self, message: str, **fields: Any) -> None:
        """Logs at level warn."""
        self._log("warn", message, fields)

    def error(self, message: str, **fields: Any) -> None:
        """Logs at level error."""
        self._log("error", message, fields)

    def _log(self, level: str, message: str, fields: Fields) -> None:
        if LEVELS.index(level) >= LEVELS.index(self._level):
            self._write(level, message, fields, self._bound)


class _Throttle:
    """Suppresses a warning that was written within the last minute, and counts how often."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self._known: dict[tuple[str, str, str], list[float]] = {}

    def __call__(self, level: str, message: str, fields: Fields, bound: Fields) -> None:
        if level in ("debug", "info"):
            return self._write(level, message, fields, bound)
        key = (message, str(fields.get("error")), str(fields.get("task_id", bound.get("task_id"))))
        now = time.monotonic()
        known = self._known.pop(key, None)
        if known is not None and now < known[0]:
            self._known[key] = [known[0], known[1] + 1]
            return None
        self._known[key] = [now + _QUIET_SECONDS, 0]
        if len(self._known) > _MAX_KEYS:
            del self._known[next(iter(self._known))]
        suppressed = {"suppressed": int(known[1])} if known is not None and known[1] > 0 else {}
        return self._write(level, message, {**fields, **suppressed}, bound)


def create_log(level: str, form: str, stream: TextIO | None = None) -> Log:
    """Creates the log of the process. `form` is text or json; lines below `level` are not written."""
    line = _json_line if form == "json" else _text_line

    def write(level: str, message: str, fields: Fields, bound: Fields) -> None:
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        every = {**bound, **fields}
        cleaned = {f"_{key}" if key in _RESERVED else key: _plain(value) for key, value in every.items()}
        out = stream or sys.stdout
        out.write(line(now, level, cut(str(message)), cleaned) + "\n")  # One call, so that lines of threads do not mix.
        out.flush()

    return Log(write, level=level)


def _json_line(now: str, level: str, message: str, fields: Fields) -> str:
    return _escape(json.dumps({"time": now, "level": level, "message": message, **fields}, ensure_ascii=False))


def _text_line(now: str, level: str, message: str, fields: Fields) -> str:
    pairs = "".join(f" {key}={_shown(value)}" for key, value in fields.items())
    return _escape(f"{now} {level:<5} {message}{pairs}")


def _shown(value: Any) -> str:
    if isinstance(value, str) and re.fullmatch(r'[^\s"=]+', value):
        return value
    return json.dumps(value, ensure_ascii=False)


def _plain(value: Any) -> Any:
    """Converts a value to one that JSON can contain, cut to its bound."""
    if isinstance(value, BaseException):
        return cut(described(value))
    if isinstance(value, str):
        return cut(value)
    try:
        text = json.dumps(value, default=str)
    except (TypeError, ValueError, RecursionError):
        return "[not serialisable]"
    return cut(text) if len(text) > MAX_FIELD_CHARS else json.loads(text)


def described(error: BaseException) -> str:
    """Describes an error in one line, also one whose text cannot be read."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return f"{type(error).__name__}: an error that cannot be read"


def cut(text: str, chars: int = MAX_FIELD_CHARS) -> str:
    """Cuts a text that has more than `chars` characters, and says so in the result."""
    return text if len(text) <= chars else f"{text[:chars]}…[cut, {len(text)} characters]"


def _escape(text: str) -> str:
    return _CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
