"""Tests which config a worker applies: generations, epochs, invalid configs, and when it polls."""

import asyncio
import json
import unittest
from collections.abc import Mapping
from typing import Any

from muster_worker.config import Config, ConfigDeps, ConfigFollower
from muster_worker.errors import RpcError
from muster_worker.rpc_client import HttpResponse

from .fixtures import UNAVAILABLE, RecordedLog, virtual


def version(epoch: str, gen: int, slots: Any = 1, digest: str = "d") -> HttpResponse:
    body = {"config": {"enabled": True, "slots": slots, "list": [{"a": 1}]}, "config_gen": gen}
    return HttpResponse(200, {"etag": f'"{epoch}.{gen}"', "muster-config-digest": digest}, json.dumps(body))


UNCHANGED, UNKNOWN = HttpResponse(304, {}, ""), HttpResponse(404, {}, "")


class ConfigTest(unittest.TestCase):
    def start(self, *responses: HttpResponse | RpcError, age: float = 100) -> ConfigFollower:
        self.responses = list(responses)
        self.polls: list[tuple[float, Mapping[str, str]]] = []
        self.applied: list[Config] = []
        self.registrations: list[str] = []
        self.errors: list[str | None] = []

        async def fetch(headers: Mapping[str, str]) -> HttpResponse:
            self.polls.append((asyncio.get_running_loop().time(), headers))
            response = self.responses.pop(0) if self.responses else UNCHANGED
            if isinstance(response, RpcError):
                raise response
            return response

        deps = ConfigDeps(
            fetch=fetch,
            channel_age=lambda: age,
            register_again=self.registrations.append,
            on_applied=self.applied.append,
            on_known=lambda: None,
            on_error=self.errors.append,
        )
        follower = ConfigFollower(RecordedLog().log, deps, unit=lambda: 1.0)
        self.running = asyncio.create_task(follower.run())
        return follower

    @property
    def gaps(self) -> list[float]:
        times = [at for at, _ in self.polls]
        return [round(later - earlier, 1) for earlier, later in zip(times, times[1:], strict=False)]

    async def poll(self, follower: ConfigFollower) -> None:
        follower.poll()
        await asyncio.sleep(0.1)

    @virtual
    async def test_applies_higher_generations_only(self) -> None:
        follower = self.start(version("e", 3, 1), version("e", 3, 2), version("e", 2, 3), version("e", 4, 4))
        for _ in range(4):
            await self.poll(follower)
        self.assertEqual([config["slots"] for config in self.applied], [1, 4])
        self.assertEqual(follower.applied_gen, 4)

    @virtual
    async def test_applies_any_generation_of_another_epoch(self) -> None:
        follower = self.start(version("e", 30, 1), version("f", 2, 5))
        await self.poll(follower)
        await self.poll(follower)
        self.assertEqual((follower.applied_gen, follower.current["slots"]), (2, 5))

    @virtual
    async def test_names_the_applied_config_in_each_poll(self) -> None:
        follower = self.start(version("e.1", 3, digest="abc"))
        await self.poll(follower)
        await self.poll(follower)
        expected = {"if-none-match": '"e.1.3"', "muster-config-digest": "abc"}
        self.assertEqual([headers for _, headers in self.polls], [{}, expected])

    @virtual
    async def test_keeps_the_old_config_when_the_new_one_is_invalid(self) -> None:
        follower = self.start(version("e", 1, 2), version("e", 2, "many"), version("e", 2, "many"), version("e", 3, 3))
        for _ in range(3):
            await self.poll(follower)
        self.assertEqual((follower.current["slots"], follower.applied_gen), (2, 1))
        self.assertEqual(self.errors, [None, "config 2 rejected: /slots: expected an integer from 0 to 1024"])
        await self.poll(follower)
        self.assertEqual((follower.current["slots"], self.errors[-1]), (3, None))

    @virtual
    async def test_polls_every_30_s_and_backs_off_after_failures(self) -> None:
        self.start(version("e", 1), UNCHANGED, UNAVAILABLE, UNAVAILABLE, UNAVAILABLE)
        await asyncio.sleep(110)
        self.assertEqual(self.gaps, [30, 30, 1, 2, 4])

    @virtual
    async def test_registers_again_when_the_master_does_not_know_the_worker(self) -> None:
        follower = self.start(UNKNOWN)
        await self.poll(follower)
        self.assertEqual(len(self.registrations), 1)
        follower = self.start(UNKNOWN, age=2)
        await self.poll(follower)
        self.assertEqual(self.registrations, [])

    @virtual
    async def test_a_config_is_read_only(self) -> None:
        follower = self.start(version("e", 1))
        await self.poll(follower)
        config: Any = follower.current
        with self.assertRaises(TypeError):
            config["slots"] = 9
        with self.assertRaises(TypeError):
            config["list"][0]["a"] = 9
