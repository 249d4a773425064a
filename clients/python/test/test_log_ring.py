"""Tests the ring of log entries (D181): what an entry has, what is kept, and what a read returns."""

import io
import json
import threading
import unittest
from typing import Any

from muster_worker.limits import LOG_RING_BYTES, LOG_RING_ENTRIES, MAX_LOG_ENTRY_BYTES, MAX_LOG_READ_BYTES
from muster_worker.log_ring import LogRing
from muster_worker.logs import Log, create_log
from muster_worker.mask import SECRET_MASK, Masker

STARTED = 1_700_000_000.25


class LogRingTest(unittest.TestCase):
    def setUp(self) -> None:
        self.now = STARTED
        self.ring = LogRing(lambda: self.now)
        self.log = Log(lambda *_: None).into(self.ring.add)

    def read(self, **query: Any) -> dict[str, Any]:
        text = self.ring.read({"type": "read_logs", "id": "r", "limit": 200, **query})
        assert text is not None
        frame: dict[str, Any] = json.loads(text)
        return frame

    def messages(self, **query: Any) -> list[str]:
        return [entry["message"] for entry in self.read(**query)["entries"]]

    def all(self, **query: Any) -> list[dict[str, Any]]:
        entries, page = [], self.read(after=0, limit=1_000, **query)
        while True:
            entries += page["entries"]
            if not page["has_more"]:
                return entries
            page = self.read(after=page["next"], limit=1_000, **query)

    def test_returns_nothing_before_the_first_entry(self) -> None:
        page = self.read()
        first = 1_700_000_000_250_000
        empty = {"type": "logs", "id": "r", "started_at": STARTED, "entries": [], "has_more": False, "missed": 0}
        self.assertEqual(page, {**empty, "next": first - 1})
        self.assertEqual(self.read(after=page["next"]), page)

    def test_keeps_time_level_message_fields_and_the_slot_task_and_attempt_of_the_run(self) -> None:
        self.now += 1.5
        run = self.log.bind(automation_type="x", worker_id="w", slot_id=3, task_id="t-1", attempt=2)
        run.warn("slow", ms=17, url="http://a.invalid", task_id="of the plugin")
        self.log.info("lease lost", task_id="t-2", slot_id="no number")
        first, second = self.read()["entries"]
        self.assertEqual(
            first,
            {
                "seq": 1_700_000_000_250_000,
                "ts": STARTED + 1.5,
                "level": "warn",
                "message": "slow",
                "slot_id": 3,
                "task_id": "t-1",
                "attempt": 2,
                "fields": {"ms": 17, "url": "http://a.invalid", "task_id": "of the plugin"},
            },
        )
        self.assertEqual((second["slot_id"], second["task_id"], second["attempt"]), (None, "t-2", None))

    def test_keeps_the_newest_5000_entries_and_reports_how_many_were_overwritten(self) -> None:
        start = self.read()["next"]
        for n in range(LOG_RING_ENTRIES + 7):
            self.log.info(f"line {n}")
        kept = self.all()
        self.assertEqual((len(kept), self.ring.size), (LOG_RING_ENTRIES, LOG_RING_ENTRIES))
        self.assertEqual((kept[0]["message"], kept[-1]["message"]), ("line 7", f"line {LOG_RING_ENTRIES + 6}"))
        missed = [self.read(after=after)["missed"] for after in (0, start + 3, start + 7)]
        self.assertEqual(missed, [7, 4, 0])

    def test_keeps_at_most_1_mib_whatever_is_logged(self) -> None:
        for n in range(3_000):
            self.log.info("€" * (n * 37 % 20_000), n=n, pad="x" * (n % 9_000))
            self.assertLessEqual(self.ring.byte_count, LOG_RING_BYTES)
        entries = self.all()
        sizes = [len(json.dumps(each, ensure_ascii=False, separators=(",", ":")).encode()) for each in entries]
        self.assertEqual((len(entries), sum(sizes)), (self.ring.size, self.ring.byte_count))
        self.assertGreater(self.ring.byte_count, LOG_RING_BYTES - MAX_LOG_ENTRY_BYTES)

    def test_keeps_any_value_in_an_entry_of_at_most_16_kib(self) -> None:
        class Unreadable:
            def __str__(self) -> str:
                raise RuntimeError("no text")

        cycle: dict[str, Any] = {}
        cycle["self"] = cycle
        deep: list[Any] = []
        for _ in range(100):
            deep = [deep]
        values: list[tuple[Any, dict[str, Any]]] = [
            ("x" * 1_000_000, {}),
            ("a field of 1 MB", {"pad": "\0" * 1_000_000}),
            ("many", {f"f{n}": n for n in range(10_000)}),
            ("a long name", {"n" * 1_000_000: 1}),
            ("\0\x1b[31m\r\n\x85\u2028", {"tab": "\t"}),
            (f"half a pair \ud83d {'😀' * 9_000}", {"half": "\udc00"}),
            ("deep", {"deep": deep}),
            ("numbers", {"nan": float("nan"), "inf": [float("inf")], "huge": 10**5_000, "big": 10**400, "true": True}),
            (None, {"set": {1}, "bytes": b"\xff", "key": {(1, 2): 3}, "none": None}),
            ({"a": 1}, {"error": ValueError("bad"), "unreadable": Unreadable(), "raised": KeyError(Unreadable())}),
            ("a cycle", {"cycle": cycle}),
        ]
        for message, fields in values:
            self.log.error(message, **fields)
            [entry] = self.read(limit=1)["entries"]
            size = len(json.dumps(entry, ensure_ascii=True).encode("ascii"))
            self.assertLessEqual(size, 3 * MAX_LOG_ENTRY_BYTES, "the text with all characters escaped")
            self.assertIsInstance(entry["message"], str)
        self.assertLessEqual(self.ring.byte_count, len(values) * MAX_LOG_ENTRY_BYTES)
        entries = {entry["message"]: entry["fields"] for entry in self.read()["entries"]}
        self.assertEqual(entries["numbers"]["nan"], None)
        self.assertEqual(entries["numbers"]["inf"], [None])
        self.assertEqual(entries["a cycle"], {"cycle": "[not serialisable]"})
        self.assertIsInstance(entries["deep"]["deep"], str)
        self.assertEqual(entries['{"a":1}']["error"], "ValueError: bad")
        self.assertEqual(list(entries["many"]), ["cut"])

    def test_selects_by_level_and_by_task(self) -> None:
        start = self.read()["next"]
        for level in ("debug", "info", "warn", "error"):
            for task in ("a", "b"):
                getattr(self.log.bind(task_id=task), level)(f"{level} {task}")
        self.assertEqual(self.messages(level="warn"), ["warn a", "warn b", "error a", "error b"])
        self.assertEqual(self.messages(level="warn", task_id="b"), ["warn b", "error b"])
        self.assertEqual(self.messages(task_id="b", limit=2), ["warn b", "error b"])
        first = self.read(task_id="b", limit=2, after=start)
        self.assertEqual([each["message"] for each in first["entries"]], ["debug b", "info b"])
        second = self.read(task_id="b", limit=2, after=first["next"])
        self.assertEqual([each["message"] for each in second["entries"]], ["warn b", "error b"])
        self.assertEqual((first["has_more"], second["has_more"]), (True, False))
        self.assertEqual(self.messages(task_id="unknown"), [])

    def test_reports_that_entries_are_unknown_after_a_restart(self) -> None:
        self.log.info("of the first process")
        last = self.read()["next"]
        self.now += 1
        self.ring = LogRing(lambda: self.now)
        Log(lambda *_: None).into(self.ring.add).info("of the second process")
        for after in (last, 2**53 - 1):
            page = self.read(after=after)
            self.assertEqual((page["missed"], len(page["entries"])), (None, 1))
        again = self.read(after=self.read(after=last)["next"])
        self.assertEqual((again["missed"], again["entries"]), (0, []))

    def test_returns_at_most_192_kib_and_the_rest_with_the_next_read(self) -> None:
        for n in range(100):
            self.log.info(str(n), pad="x" * 8_000)
        page = self.read(after=0)
        self.assertTrue(page["has_more"])
        self.assertLess(len(json.dumps(page["entries"])), MAX_LOG_READ_BYTES + 8_192)
        self.assertEqual([each["message"] for each in self.all()], [str(n) for n in range(100)])
        self.assertEqual(self.messages()[-1], "99")

    def test_ignores_a_frame_that_is_not_valid(self) -> None:
        good = {"type": "read_logs", "id": "r", "limit": 1}
        for wrong in ({"id": 1}, {"limit": "1"}, {"limit": 0}, {"limit": None}, {"after": "x"}, {"level": "fatal"}):
            self.assertIsNone(self.ring.read({**good, **wrong}), wrong)
        self.assertIsNotNone(self.ring.read({**good, "a_later_field": 1}))

    def test_numbers_the_entries_of_many_threads_without_a_gap(self) -> None:
        class Logs:
            def __init__(self, log: Log) -> None:
                self.log = log

            def __str__(self) -> str:  # The code of a plugin may log while its values become text.
                self.log.info("inside")
                return "value"

        def write() -> None:
            for _ in range(100):
                self.log.info("line", value=Logs(self.log))

        threads = [threading.Thread(target=write) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        numbers = [entry["seq"] for entry in self.all()]
        self.assertEqual(numbers, list(range(numbers[0], numbers[0] + 1_600)))

    def test_adds_only_what_is_written_and_after_its_secrets_were_masked(self) -> None:
        stream = io.StringIO()
        log = create_log("warn", "json", stream).into(self.ring.add).bind(worker_id="w")
        masker = Masker(("password",))
        masker.see({"password": "correct-horse"})
        run = log.bind(task_id="t-1").through(masker.value)
        run.info("not written")
        run.warn("login with correct-horse", body={"form": ["correct-horse"]}, error=ValueError("correct-horse"))
        [entry] = self.read()["entries"]
        self.assertNotIn("correct-horse", json.dumps(entry) + stream.getvalue())
        self.assertEqual((entry["message"], entry["task_id"]), (f"login with {SECRET_MASK}", "t-1"))
        [line] = stream.getvalue().splitlines()
        self.assertEqual((json.loads(line)["worker_id"], json.loads(line)["task_id"]), ("w", "t-1"))

    def test_writes_a_line_whose_message_is_no_text(self) -> None:
        stream = io.StringIO()
        any_message: Any = 7
        create_log("info", "json", stream).info(any_message)
        self.assertEqual(json.loads(stream.getvalue())["message"], "7")

    def test_adds_a_repeated_warning_of_the_worker_once(self) -> None:
        log = self.log.throttled()
        for _ in range(3):
            log.warn("failed", error="x")
        self.assertEqual(self.messages(), ["failed"])
