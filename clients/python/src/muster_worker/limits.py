"""Defines the bounds of the protocol that a worker respects, and the JSON text that it sends."""

import json
import re
from typing import Any

PROTOCOL_VERSION = 1
FEATURES = "stream, result, progress, cancel, labels, logs, holder, output_task, slot_tasks"
API_PREFIX = "/api/v1"
MAX_SLOTS = 1_024
MAX_ERROR_CHARS = 4_096
MAX_NAME_CHARS = 256
MAX_RESULT_BYTES = 65_536
MAX_PROGRESS_BYTES = 1_024
MAX_FRAME_BYTES = 1_048_576
MAX_BODY_BYTES = 1_048_576
MAX_OUTPUTS_PER_FRAME = 1_000
MAX_BUFFERED_FRAMES = 1_024
MAX_BUFFERED_BYTES = 16 * 1_048_576
MAX_SETTLE_ITEMS = 1_000
MAX_RESERVED_PER_CALL = 500
MAX_METRIC_NAMES = 500
LOG_RING_ENTRIES, LOG_RING_BYTES, MAX_LOG_ENTRY_BYTES = 5_000, 1_048_576, 16_384
MAX_LOG_ENTRIES_PER_READ, MAX_LOG_READ_BYTES, MAX_LOG_READS = 1_000, 196_608, 4
MAX_LABELS, MAX_LABEL_CHARS = 16, 63
MAX_RETRY_SECONDS = 86_400
MIN_HOLD_SECONDS, MAX_HOLD_SECONDS = 1, 43_200
STATE_EVERY_SECONDS = 15
CONFIG_POLL_SECONDS = 30
RECONNECT_BASE_SECONDS, RECONNECT_CAP_SECONDS = 1, 30
SILENCE_SECONDS = 45
CLOSE_ABNORMAL, CLOSE_POLICY, CLOSE_PROTOCOL_VERSION, CLOSE_INVALID_TOKEN = 1006, 1008, 4000, 4401

_HALF_PAIR = re.compile("[\ud800-\udfff]")


def to_json(value: Any) -> str:
    """Converts a value to compact JSON. A text that is not valid Unicode is escaped, so that it can be encoded.

    Raises TypeError or ValueError for a value that JSON cannot contain, such as NaN.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    if _HALF_PAIR.search(text) is None:
        return text
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def truncate_error(text: str, max_chars: int = MAX_ERROR_CHARS) -> str:
    """Truncates a text to `max_chars` UTF-16 code units, which is how the protocol counts characters."""
    units = text.encode("utf-16-le", "surrogatepass")
    return units[: 2 * max_chars].decode("utf-16-le", "replace")
