"""Creates the components of a worker process and connects them. The rules are in the components.

control_channel ── outbox ◀── state_reporter, stats, slots' outputs
     │ config_changed, drain, task_cancelled, read_logs
config ──applied──▶ slots ──run──▶ the function of the automation
                      └─ tasks ── leases ── outcome_queue ──▶ rpc_client
"""

import asyncio
import uuid
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from .active_errors import ActiveErrors
from .address import worker_address
from .backoff import RefusalLimiter
from .bus import BusClient
from .config import Config, ConfigDeps, ConfigFollower
from .context import RunDeps
from .control_channel import ChannelDeps, ControlChannel
from .drain import Drain, DrainForm
from .health import start_health
from .host import Host
from .leases import Leases
from .log_ring import LogRing
from .logs import Log
from .mask import Masker
from .outbox import Outbox
from .outcome_queue import OutcomeQueue
from .plugin_calls import PluginCalls
from .rpc_client import RpcClient
from .run_counters import RESERVED_PREFIX, RunCounters
from .run_slot import Function, SlotRun, failure_text, run_batch_slot, run_continuous_slot
from .settings import Settings, Token
from .slot_records import Metrics, SlotRecords
from .slots import Slot, Slots, SlotsDeps
from .state_reporter import StateReporter, WorkerCondition, state_of
from .stats import Stats
from .tasks import TaskFeed

_TASK_CONNECTIONS, _PLUGIN_CONNECTIONS = 8, 32
_STATS_EVERY_SECONDS, _STATS_GAP_SECONDS, _FIRST_FAILURE_SECONDS = 15, 1, 3


@dataclass(frozen=True)
class Automation:
    """What a worker runs; made by `batch` and `continuous`."""

    type: str
    kind: str
    function: Function
    visibility_timeout_seconds: float = 60
    secrets: tuple[str, ...] = ()


class Worker:
    """A running worker. Create it inside an event loop; `done` ends with the exit code."""

    def __init__(self, automation: Automation, settings: Settings, log: Log) -> None:
        self._automation, self._settings = automation, settings
        self._logs = LogRing()
        self._slot_log = log.into(self._logs.add).bind(automation_type=automation.type, worker_id=settings.worker_id)
        self._log = log = self._slot_log.throttled()
        address = worker_address(settings.master_url, automation.type, settings.worker_id)
        self._token = Token(settings, log)
        refusals = RefusalLimiter()
        self._task_rpc = RpcClient(address.rpc_url, self._read_token, refusals, _TASK_CONNECTIONS)
        self._plugin_rpc = RpcClient(address.rpc_url, self._read_token, refusals, _PLUGIN_CONNECTIONS)
        self._plugin_calls = PluginCalls(self._plugin_rpc, self._offers)
        self._bus = BusClient(log, address.bus_url, self._read_token, refusals)
        self._errors = ActiveErrors(lambda: self._state.send_if_changed())
        self._records = SlotRecords(self._slot_log, self._errors)
        self._runs = RunCounters(is_batch=automation.kind == "batch", on_first_failure=self._first_failure)
        self._state = StateReporter(self._condition, lambda: self._outbox.report("state"))
        self._stats = Stats(
            Host(),
            self._metrics,
            lambda: self._records.per_slot(self._slots.ages(), self._offers("slot_tasks")),
        )
        reports = {"state": self._state.frame, "stats": self._stats.frame}
        self._outbox = Outbox(log, reports, can_name_tasks=lambda: self._offers("output_task"))
        self._channel = self._make_channel(address.control_url)
        self._config = ConfigFollower(
            log,
            ConfigDeps(
                fetch=lambda headers: self._task_rpc.get(address.config_url, headers),
                channel_age=lambda: self._channel.age,
                register_again=self._register_again,
                on_applied=self._applied,
                on_known=self._set_known,
                on_error=lambda message: self._errors.set("config", message),
            ),
        )
        self._outcomes = OutcomeQueue(log, self._task_rpc, self._register_again, self._runs.task_died)
        self._leases = Leases(
            log, self._task_rpc, automation.visibility_timeout_seconds, self._outcomes.add, self._offers
        )
        self._slots = Slots(
            log,
            SlotsDeps(
                run=self._run_slot,
                end_within=None if automation.kind == "batch" else settings.drain_timeout_seconds,
                on_spawn_error=self._spawn_failed,
                on_change=self._slots_changed,
                on_gone=self._records.forget,
            ),
        )
        self._feed = TaskFeed(
            log, self._task_rpc, self._leases, lambda: self._config.current, self._register_again, self._offers
        )
        parts = (self._slots, self._feed, self._leases, self._outcomes, self._outbox)
        self._drain = Drain(log, settings.drain_timeout_seconds, parts, self._close)
        self._health: web.AppRunner | None = None
        self._is_known = False
        self._exit_code = 0
        self._stats_gap: asyncio.TimerHandle | None = None
        self._failure_timer: asyncio.TimerHandle | None = None
        self.done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._tasks: set[asyncio.Task[None]] = set()
        parts_to_run = (self._channel, self._config, self._leases, self._outcomes, self._state, self._token)
        for work in (*(part.run() for part in parts_to_run), self._report_stats(), self._start_health()):
            self._spawn(work)

    def drain(self, why: str) -> None:
        """Shuts down as on SIGTERM: no new tasks, and a deadline for running ones (D53). May be called repeatedly."""
        self._end("shutdown", why)

    def report_unhandled_error(self, error: BaseException) -> None:
        """Logs an error that nothing awaits, and reports it as `last_error`. The worker continues."""
        masker = self._masker()
        text = failure_text(error, masker)
        self._log.error("unhandled error in the automation", error=text)
        self._errors.set("unhandled", f"unhandled error in the automation: {text}")

    def _read_token(self) -> str:
        return self._token.value

    def _offers(self, feature: str) -> bool:
        return feature in self._channel.features

    def _make_channel(self, url: str) -> ControlChannel:
        identity = {
            "worker_id": self._settings.worker_id,
            "automation_type": self._automation.type,
            "instance_id": str(uuid.uuid4()),
        }
        return ControlChannel(
            self._log,
            ChannelDeps(
                url=url,
                token=self._read_token,
                register=lambda: {**identity, "hardware": Host().hardware()},
                labels=self._settings.labels,
                outbox=self._outbox,
                on_open=lambda: self._config.poll(),
                on_close=self._set_known,
                on_frame=self._received,
                on_rejected=lambda why: self._fail("the master rejected the worker permanently", why),
            ),
        )

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """A component that fails is a fault of this package: the worker stops, and its supervisor restarts it."""
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._fail("a component of the worker failed", f"{type(error).__name__}: {error}")

    def _fail(self, what: str, why: str) -> None:
        self._log.error(f"worker stopping: {what}", why=why)
        self._exit_code = 1
        self._end("shutdown", why)

    def _end(self, form: DrainForm, why: str) -> None:
        self._drain.begin(form, why).add_done_callback(self._finish)

    def _finish(self, drain: asyncio.Task[None]) -> None:
        if not self.done.done():
            failed = drain.cancelled() or drain.exception() is not None
            self.done.set_result(1 if failed else self._exit_code)

    def _set_known(self) -> None:
        self._is_known = self._channel.is_open

    def _register_again(self, why: str) -> None:
        self._channel.reconnect(why)

    def _received(self, frame: dict[str, Any]) -> None:
        if frame["type"] == "config_changed":
            self._config.poll()
        elif frame["type"] == "drain":
            self._end("drain", "the master requested a drain")
        elif frame["type"] == "task_cancelled":
            self._leases.cancelled(frame.get("task_id"), frame.get("token"))
        elif frame["type"] == "read_logs" and (response := self._logs.read(frame)) is not None:
            self._outbox.respond(response)

    def _applied(self, config: Config) -> None:
        self._errors.set("unhandled", None)  # A new config clears unhandled errors.
        self._runs.applied(config)
        if self._drain.form is None:
            self._feed.set_slots(config["slots"] if config["enabled"] else 0)
        self._slots.apply(config)
        self._state.send_if_changed()

    def _slots_changed(self) -> None:
        self._state.send_if_changed()
        if self._stats.has_slot_count_changed and self._stats_gap is None:
            self._stats_gap = asyncio.get_running_loop().call_later(_STATS_GAP_SECONDS, self._report_slot_count)

    def _report_slot_count(self) -> None:
        self._stats_gap = None
        if self._stats.has_slot_count_changed:
            self._outbox.report("stats")

    def _first_failure(self) -> None:
        """Reports early that runs fail under a config, so that one that makes all tasks fail is known soon."""
        if self._failure_timer is None:
            self._failure_timer = asyncio.get_running_loop().call_later(_FIRST_FAILURE_SECONDS, self._report_failure)

    def _report_failure(self) -> None:
        self._failure_timer = None
        self._outbox.report("stats")

    async def _report_stats(self) -> None:
        while True:
            await asyncio.sleep(_STATS_EVERY_SECONDS)
            self._outbox.report("stats")

    async def _run_slot(self, slot: Slot) -> None:
        deps = RunDeps(
            slot_id=slot.id,
            log=self._slot_log.bind(slot_id=slot.id),
            masker=self._masker(),
            metrics=Metrics(self._records, slot.id),
            rpc=self._plugin_calls,
            bus=self._bus,
            config=lambda: self._config.current,
            emit=self._outbox.output,
        )
        run = SlotRun(
            self._automation.function,
            slot,
            deps,
            on_error=lambda text: self._records.set_error(slot.id, text),
            on_task=lambda task_id: self._records.set_task(slot.id, task_id),
            on_run_ended=self._runs.run_ended,
        )
        await (run_batch_slot(run, self._feed) if self._automation.kind == "batch" else run_continuous_slot(run))

    def _masker(self) -> Masker:
        masker = Masker(self._automation.secrets)
        masker.see(self._config.current)
        return masker

    def _spawn_failed(self, message: str | None) -> None:
        """Reports that a slot could not start, or with None that spawning works again."""
        if message is not None:
            self._runs.slot_failed()
        self._errors.set("spawn", message)

    def _metrics(self) -> dict[str, float]:
        """Returns the metrics of the automation and the reserved ones (D137)."""
        refused = self._config.refused_gen
        gauge = f"gauge.{RESERVED_PREFIX}"
        return {
            **self._records.metrics(self._outbox.outputs_evicted),
            **self._runs.snapshot(),
            f"{gauge}config_gen": self._config.applied_gen,
            f"{gauge}tasks_held": self._leases.size + int(self._feed.is_reserving),
            **({} if refused is None else {f"{gauge}refused_config_gen": refused}),
        }

    def _condition(self) -> WorkerCondition:
        state = state_of(
            target=self._slots.target,
            active=self._slots.active,
            failing=self._records.failing,
            spawn_fails=self._errors.has("spawn"),
        )
        return WorkerCondition(state, self._config.applied_gen, self._errors.last)

    async def _start_health(self) -> None:
        if self._settings.health_listen is None:
            return
        labels = {"automation_type": self._automation.type, "worker_id": self._settings.worker_id}
        try:
            self._health = await start_health(*self._settings.health_listen, self._why_not_ready, labels, self._gauges)
        except OSError as error:
            self._fail("the health listener could not start (SVC_HEALTH_LISTEN)", str(error))

    def _why_not_ready(self) -> str | None:
        if self._drain.form is not None:
            return "draining"
        return None if self._is_known else "not registered"

    def _gauges(self) -> dict[str, float]:
        return {
            "connected": int(self._channel.is_open),
            "draining": int(self._drain.form is not None),
            "config_gen": self._config.applied_gen,
            "slots": self._slots.size,
            "slots_failing": self._records.failing,
            "leases": self._leases.size,
            "frames_waiting": self._outbox.frames,
            "outputs_evicted": self._outbox.outputs_evicted,
            "cpu_pct": self._stats.cpu_percent,
            "rss_mb": self._stats.rss_megabytes,
        }

    async def _close(self) -> None:
        await self._channel.close(orderly=self._exit_code == 0)
        for task in self._tasks:
            task.cancel()
        for client in (self._task_rpc, self._plugin_rpc, self._bus):
            await client.close()
        if self._health is not None:
            await self._health.cleanup()
