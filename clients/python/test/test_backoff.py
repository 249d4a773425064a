"""Tests the delays before retries, and the limit of requests while the master rejects them."""

import asyncio
import unittest

from muster_worker.backoff import Backoff, RefusalLimiter, parse_retry_after, retry_after_delay, retry_delay

from .fixtures import virtual
from .virtual_time import elapsed


class BackoffTest(unittest.TestCase):
    def test_doubles_up_to_the_cap_and_starts_over(self) -> None:
        backoff = Backoff(1, 30, unit=lambda: 1.0)
        self.assertEqual([backoff.next_seconds() for _ in range(7)], [1, 2, 4, 8, 16, 30, 30])
        backoff.reset()
        self.assertEqual(backoff.next_seconds(), 1)

    def test_draws_from_the_upper_half(self) -> None:
        self.assertEqual(Backoff(8, 30, unit=lambda: 0.0).next_seconds(), 4)
        self.assertEqual(Backoff(8, 30, floor=0, unit=lambda: 0.0).next_seconds(), 0)

    def test_grows_by_the_policy_of_a_task(self) -> None:
        policy = {"base_seconds": 0.5, "factor": 3, "cap_seconds": 10}
        self.assertEqual([retry_delay(policy, attempt, lambda: 1.0) for attempt in range(4)], [0.5, 1.5, 4.5, 10])
        self.assertEqual(retry_delay(policy, 5_000, lambda: 0.5), 5)
        self.assertEqual(retry_delay({**policy, "factor": 1.5}, 5_000, lambda: 0.5), 5)

    def test_reads_retry_after(self) -> None:
        self.assertEqual(parse_retry_after("7"), 7)
        self.assertEqual(parse_retry_after(None), 0)
        self.assertEqual(parse_retry_after("soon"), 0)
        self.assertEqual(parse_retry_after("Wed, 21 Oct 2015 07:28:00 GMT"), 0)

    def test_never_waits_longer_than_30_s(self) -> None:
        self.assertEqual(retry_after_delay(3_600, lambda: 1.0), 30)
        self.assertEqual(retry_after_delay(8, lambda: 0.0), 8)
        self.assertEqual(retry_after_delay(8, lambda: 1.0), 10)


class RefusalLimiterTest(unittest.TestCase):
    @virtual
    async def test_sends_one_request_at_a_time_after_three_refusals(self) -> None:
        limiter = RefusalLimiter(unit=lambda: 1.0)
        started = asyncio.get_running_loop().time()
        sent: list[float] = []

        async def request() -> None:
            await limiter.turn()
            sent.append(elapsed(started))

        for _ in range(3):
            await request()
            limiter.refused()
        await asyncio.gather(*(request() for _ in range(4)))
        self.assertEqual(sent, [0, 0, 0, 0.5, 1.5, 3.5, 5.5])

    @virtual
    async def test_all_leave_when_a_request_is_served(self) -> None:
        limiter = RefusalLimiter(unit=lambda: 1.0)
        for _ in range(3):
            limiter.refused(20)
        waiting = [asyncio.create_task(limiter.turn()) for _ in range(3)]
        started = asyncio.get_running_loop().time()
        await asyncio.sleep(1)
        limiter.served()
        await asyncio.gather(*waiting)
        self.assertEqual(elapsed(started), 1)

    @virtual
    async def test_respects_retry_after(self) -> None:
        limiter = RefusalLimiter(unit=lambda: 0.0)
        for _ in range(3):
            limiter.refused(20)
        started = asyncio.get_running_loop().time()
        await limiter.turn()
        self.assertEqual(elapsed(started), 20)
