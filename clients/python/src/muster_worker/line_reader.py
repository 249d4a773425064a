"""Reads the response to a reserve that streams (D125): notifications with tasks, then the response of the call.

Empty lines only show that the connection is alive.
"""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

LINES_TYPE = "application/x-ndjson"

Tasks = list[dict[str, Any]]


async def read_lines(
    chunks: AsyncIterator[bytes], on_tasks: Callable[[Tasks], None], on_chunk: Callable[[], None]
) -> Any:
    """Calls `on_tasks` for each notification. Returns the response of the call; None if the body ended before it.

    Raises ValueError for a line that is not JSON.
    """
    parts: list[bytes] = []  # Of a line whose end has not arrived. They are joined once, at its end.
    response: Any = None
    async for chunk in chunks:
        on_chunk()
        first, *rest = chunk.split(b"\n")
        parts.append(first)
        for start in rest:
            text = b"".join(parts)
            parts = [start]
            line = json.loads(text) if text else {}
            if "method" in line:
                on_tasks(line["params"]["tasks"])
            elif text:
                response = line
    return response
