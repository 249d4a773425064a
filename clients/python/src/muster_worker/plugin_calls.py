"""Sends the calls of runs.

A claim of pool items names its slot and task if every live master knows these fields (D186).
"""

from collections.abc import Callable
from typing import Any

from .backoff import monotonic
from .errors import RpcError
from .rpc_client import RpcClient

_DROPPED_SECONDS = 60
_HOLDER_FIELDS = ("slot_id", "task_id")


class PluginCalls:
    """`offers` returns whether all live masters implement a feature."""

    def __init__(self, rpc: RpcClient, offers: Callable[[str], bool]) -> None:
        self._rpc, self._offers = rpc, offers
        self._dropped_until = float("-inf")

    async def call(self, method: str, params: dict[str, Any]) -> Any:
        """Returns the result. Raises RpcError with the master's code, or `unavailable` without a response."""
        if method != "pool.claim":
            return await self._rpc.call(method, params)
        plain = {name: value for name, value in params.items() if name not in _HOLDER_FIELDS}
        if monotonic() < self._dropped_until or not self._offers("holder"):
            return await self._rpc.call(method, plain)
        try:
            return await self._rpc.call(method, params)
        except RpcError as error:
            if error.code != "invalid_params":
                raise
            self._dropped_until = monotonic() + _DROPPED_SECONDS  # A master of an earlier release has joined.
            return await self._rpc.call(method, plain)
