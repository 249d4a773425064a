"""Runs one slot: a batch slot takes and runs one task at a time, a continuous slot restarts its run whenever it ends.

  returned ─▶ ack, or restarted after 1 s     raised ─▶ nack (RetryIn, Permanent), or restarted after 1 s … 60 s
  lease lost ─▶ the run is cancelled and its outcome ignored       killed ─▶ cancelled, the task is released

A function that continues after its lease was lost keeps its slot busy, because a second task would exceed the
configured concurrency. Only `killed` abandons a run: it has a second for its `finally` blocks (D24, D25, D53).
"""

import asyncio
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from inspect import iscoroutinefunction
from typing import Any

from .backoff import Backoff, monotonic, retry_delay
from .config import Config
from .context import BlockingContext, Context, RunDeps
from .errors import Permanent, RetryIn, StopReason
from .lease import HeldLease
from .limits import truncate_error
from .mask import Masker
from .run_counters import Outcome
from .slots import Slot
from .tasks import TaskFeed

Function = Callable[[Any], Any]
_KILL_GRACE_SECONDS = 1.0
_AGAIN_SECONDS = 1.0
_CAP_SECONDS = 60.0
Ending = BaseException | None


@dataclass(frozen=True)
class SlotRun:
    """What a slot runs. `on_error` reports the error of its last run, or None after a success.

    `on_task` receives the id of the task that the slot runs, or None after its run. `on_run_ended` receives the config
    under which a run began, how it ended, its seconds, and the text of its failure.
    """

    function: Function
    slot: Slot
    deps: RunDeps
    on_error: Callable[[str | None], None]
    on_task: Callable[[str | None], None]
    on_run_ended: Callable[[Config, Outcome, float, str | None], None]


async def run_batch_slot(run: SlotRun, feed: TaskFeed) -> None:
    """Runs tasks until the slot is stopped and its task has ended."""
    failing = False
    while not run.slot.stopping.is_set and not run.slot.killed.is_set:
        lease = await feed.take(run.slot.stopping)
        if lease is None:
            return
        if run.slot.killed.is_set:  # Reserved while the slot was killed.
            lease.release()
            return
        run.on_task(lease.id)
        failure = await _run_task(run, lease)
        run.on_task(None)
        if failure is not None or failing:
            run.on_error(failure)
        failing = failure is not None


async def _run_task(run: SlotRun, lease: HeldLease) -> str | None:
    """Runs one task and reports its outcome. Returns the text of its failure."""
    run.deps.masker.see(lease.config)
    log = run.deps.log.bind(task_id=lease.id, attempt=lease.attempt)
    execution = _Execution(run, lease)
    remove = lease.lost.listen(execution.stop)
    started = monotonic()
    ending = await execution.end()
    seconds = monotonic() - started
    remove()
    if lease.lost.is_set:
        log.warn("the lease of the task was lost; its outcome is ignored")
    elif run.slot.killed.is_set:
        log.warn("the task was interrupted and is released")
        lease.release()
        run.on_run_ended(lease.config, "released", seconds, None)
    else:
        if ending is None:
            try:
                lease.ack(execution.returned)
                run.on_run_ended(lease.config, "ok", seconds, None)
                return None
            except (TypeError, ValueError, RecursionError) as error:  # JSON cannot contain the result.
                ending = error
        text = failure_text(ending, run.deps.masker)
        retry_in = _retry_delay(ending, lease)
        lease.nack(text, retry_in=retry_in, permanent=isinstance(ending, Permanent))
        run.on_run_ended(lease.config, "failed", seconds, text)
        log.warn("the task failed", error=text, stack=_stack_of(ending, run.deps.masker))
        return text
    return None


def _retry_delay(ending: BaseException, lease: HeldLease) -> float | None:
    """What the run asked for, else the delay of the task's own policy (D113). The master applies the automation's."""
    if isinstance(ending, RetryIn):
        return ending.seconds
    if lease.retry is None or isinstance(ending, Permanent):
        return None
    return retry_delay(lease.retry, lease.attempt)


async def run_continuous_slot(run: SlotRun) -> None:
    """Runs the function again and again, until the slot is stopped and its run has ended, or it is killed."""
    backoff = Backoff(_AGAIN_SECONDS, _CAP_SECONDS, floor=0.0)

    def well() -> None:
        backoff.reset()
        run.on_error(None)

    while not run.slot.stopping.is_set and not run.slot.killed.is_set:
        config, started = run.deps.config(), monotonic()
        run.deps.masker.see(config)
        execution = _Execution(run, None)
        remove = run.slot.stopping.listen(execution.stop)
        timer = asyncio.get_running_loop().call_later(_CAP_SECONDS, well)
        ending = await execution.end()
        timer.cancel()
        remove()
        if run.slot.stopping.is_set or run.slot.killed.is_set:
            return
        text = None if ending is None else failure_text(ending, run.deps.masker)
        run.on_run_ended(config, "ok" if ending is None else "failed", monotonic() - started, text)
        wait = _AGAIN_SECONDS
        if ending is None:
            well()
        else:
            wait = backoff.next_seconds()
            stack = _stack_of(ending, run.deps.masker)
            run.deps.log.error("the automation failed, restarting", error=text, stack=stack)
            run.on_error(text)
        waiting = asyncio.ensure_future(run.slot.stopping.wait())
        await asyncio.wait({waiting}, timeout=wait)
        waiting.cancel()


def failure_text(error: BaseException, masker: Masker) -> str:
    """Describes an error without secrets, in at most 4,096 characters."""
    try:
        message = str(error)
    except Exception:  # An error of a plugin may raise in __str__.
        message = "raised an error that cannot be read"
    name = "" if isinstance(error, RetryIn | Permanent) and message else type(error).__name__
    return truncate_error(masker.text(": ".join(part for part in (name, message) if part)))


def _stack_of(error: BaseException, masker: Masker) -> str:
    return masker.text("".join(traceback.format_tb(error.__traceback__)))


class _Execution:
    """One call of the function, as a coroutine or in a thread."""

    def __init__(self, run: SlotRun, lease: HeldLease | None) -> None:
        self._run = run
        fields: dict[str, Any] = {} if lease is None else {"task_id": lease.id, "attempt": lease.attempt}
        deps = run.deps if lease is None else RunDeps(**{**vars(run.deps), "log": run.deps.log.bind(**fields)})
        self._context = Context(deps, lease)
        self._blocking: BlockingContext | None = None
        self.returned: object = None
        self._work: asyncio.Future[Ending]
        if iscoroutinefunction(run.function):
            self._work = asyncio.create_task(self._await())
        else:
            self._blocking = BlockingContext(self._context, asyncio.get_running_loop())
            self._work = asyncio.get_running_loop().create_future()
            threading.Thread(target=self._in_thread, daemon=True, args=(asyncio.get_running_loop(),)).start()

    def stop(self, why: StopReason) -> None:
        """Cancels the coroutine, or notifies the thread. Only the first reason counts."""
        if self._context.why is not None:
            return
        self._context.why = why
        if self._blocking is not None:
            self._blocking.cancelled.set()
        else:
            self._work.cancel()

    async def end(self) -> Ending:
        """Waits for the end of the call, or until the slot is killed. Returns what it raised."""
        killed = asyncio.ensure_future(self._run.slot.killed.wait())
        try:
            both: set[asyncio.Future[Any]] = {self._work, killed}
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if not self._work.done():
                self.stop(self._run.slot.killed.why or "shutdown")
                await asyncio.wait({self._work}, timeout=_KILL_GRACE_SECONDS)
        finally:
            killed.cancel()
            self._context.end()
        if not self._work.done() or self._work.cancelled():
            return asyncio.CancelledError()
        return self._work.result()

    async def _await(self) -> Ending:
        try:
            self.returned = await self._run.function(self._context)
        except BaseException as error:  # Also SystemExit, which must not end the worker.
            return error
        return None

    def _in_thread(self, loop: asyncio.AbstractEventLoop) -> None:
        ending: Ending = None
        try:
            self.returned = self._run.function(self._blocking)
        except BaseException as error:
            ending = error
        loop.call_soon_threadsafe(self._work.set_result, ending)
