"""Tests the counters of runs (D137)."""

import unittest

from muster_worker.active_errors import ActiveErrors
from muster_worker.config import Config
from muster_worker.run_counters import RunCounters, run_ms_bucket
from muster_worker.slot_records import Metrics, SlotRecords

from .fixtures import RecordedLog


def _config() -> Config:
    return {"enabled": True, "slots": 1}


class RunCountersTest(unittest.TestCase):
    def test_counts_runs_by_their_end_and_duration(self) -> None:
        counters, config = RunCounters(is_batch=True), _config()
        counters.applied(config)
        for seconds in (1.0, 1.0, 0.003):
            counters.run_ended(config, "ok", seconds)
        counters.run_ended(config, "failed", 0.003)
        counters.run_ended(config, "released", 5)
        counters.slot_failed()
        self.assertEqual(
            counters.snapshot(),
            {
                "counter.muster.runs_ok": 3,
                "counter.muster.runs_failed": 1,
                "counter.muster.runs_released": 1,
                "counter.muster.slot_failures": 1,
                "counter.muster.run_ms_le.7": 2,
                "counter.muster.run_ms_le.40": 2,
            },
        )

    def test_restarts_with_each_config_and_leaves_out_runs_of_an_earlier_one(self) -> None:
        counters, first, second = RunCounters(is_batch=True), _config(), _config()
        counters.run_ended(first, "ok", 1)
        counters.applied(first)
        counters.run_ended(first, "failed", 1)
        counters.applied(second)
        counters.run_ended(first, "failed", 1)
        self.assertEqual(counters.snapshot(), {})

    def test_counts_only_failures_of_a_continuous_automation(self) -> None:
        counters, config = RunCounters(is_batch=False), _config()
        counters.applied(config)
        counters.run_ended(config, "ok", 1)
        counters.run_ended(config, "failed", 1)
        self.assertEqual(counters.snapshot(), {"counter.muster.slot_failures": 1})

    def test_counts_the_failed_runs_with_the_newest_error_and_the_tasks_that_died(self) -> None:
        counters, config = RunCounters(is_batch=True), _config()
        counters.applied(config)
        for error in ("timeout after 31 ms", "no such host", "timeout after 29 ms"):
            counters.run_ended(config, "failed", 1, error)
        counters.task_died()
        counts = counters.snapshot()
        self.assertEqual(counts["counter.muster.last_error_runs"], 2)
        self.assertEqual(counts["counter.muster.runs_died"], 1)
        for word in "abcdefghijklmnop":
            counters.run_ended(config, "failed", 1, word)
        counters.run_ended(config, "failed", 1, "timeout after 1 ms")
        self.assertEqual(counters.snapshot()["counter.muster.last_error_runs"], 1, "16 errors are kept")
        counters.applied(_config())
        self.assertEqual(counters.snapshot(), {})

    def test_reports_the_first_failure_under_each_config(self) -> None:
        failures: list[str] = []
        counters = RunCounters(is_batch=True, on_first_failure=lambda: failures.append("failed"))
        for expected in (2, 4):
            config = _config()
            counters.applied(config)
            for _ in range(3):
                counters.run_ended(config, "ok", 1)
                counters.run_ended(config, "failed", 1, "x")
                counters.slot_failed()
            self.assertEqual(len(failures), expected)

    def test_selects_buckets_as_the_protocol_defines_them(self) -> None:
        self.assertEqual([run_ms_bucket(2**power) for power in range(22)], [4 * power for power in range(22)])
        self.assertEqual([run_ms_bucket(ms) for ms in (0, 0.5, 1_000, 1e12)], [0, 0, 40, 87])

    def test_drops_metrics_of_automations_with_a_reserved_name(self) -> None:
        log = RecordedLog()
        records = SlotRecords(log.log, ActiveErrors(lambda: None))
        metrics = Metrics(records, 0)
        metrics.counter("muster.runs_ok").add()
        metrics.gauge("muster.tasks_held").set(0)
        metrics.counter("mustered").add()
        self.assertEqual(records.metrics(0), {"counter.mustered": 1})
        self.assertEqual(
            log.messages("warn"),
            [
                "the counter 'muster.runs_ok' is dropped: names that begin with 'muster.' are reserved for the worker; "
                "choose another name"
            ],
        )
