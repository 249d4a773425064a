"""Fakes for the unit tests: a log that records, and a master whose responses a test chooses."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from functools import wraps
from typing import Any, cast

from muster_worker.errors import RpcError
from muster_worker.logs import Log
from muster_worker.rpc_client import RpcClient

from .virtual_time import on_virtual_time


class RecordedLog:
    """`log` writes into `lines`."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str, dict[str, Any]]] = []
        self.log = Log(lambda level, message, fields, bound: self.lines.append((level, message, {**bound, **fields})))

    def messages(self, level: str) -> list[str]:
        return [message for each, message, _ in self.lines if each == level]


class FakeRpc:
    """Records each call with its virtual time, and returns what `respond` returns. Raises an RpcError from it."""

    def __init__(self, respond: Callable[[str, Mapping[str, Any]], Any]) -> None:
        self.calls: list[tuple[float, str, Mapping[str, Any]]] = []
        self.respond = respond
        self.served_at = 0.0
        self.delay = 0.0

    async def call(self, method: str, params: Mapping[str, Any], timeout: float = 15.0) -> Any:
        self.calls.append((asyncio.get_running_loop().time(), method, params))
        await asyncio.sleep(self.delay)
        outcome = self.respond(method, params)
        if isinstance(outcome, RpcError):
            raise outcome
        return outcome

    async def batch(self, calls: list[tuple[str, Mapping[str, Any]]]) -> list[Any]:
        self.calls += [(asyncio.get_running_loop().time(), method, params) for method, params in calls]
        await asyncio.sleep(self.delay)
        outcomes = [self.respond(method, params) for method, params in calls]
        for outcome in outcomes:
            if isinstance(outcome, RpcError) and outcome.code == "unavailable":
                raise outcome
        return outcomes

    @property
    def client(self) -> RpcClient:
        return cast(RpcClient, self)


UNAVAILABLE = RpcError("unavailable", "no response", {"outcome": "unknown"})


def task(token: int, expires_at: float = 60.0, **more: object) -> dict[str, Any]:
    return {"task_id": f"t-{token}", "token": token, "payload": {}, "attempt": 0, "expires_at": expires_at, **more}


def virtual(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Runs a test method on virtual time."""

    @wraps(test)
    def run(*args: Any) -> None:
        on_virtual_time(test(*args))

    return run
