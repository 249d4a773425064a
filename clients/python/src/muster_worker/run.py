"""Declares automations and runs one of them as a worker process.

Exit codes: 0 drained or terminated, 1 permanently rejected by the master or an internal fault, 2 settings.
"""

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn
from urllib.parse import urlsplit

from .logs import Log, create_log
from .run_slot import Function
from .settings import Settings, SettingsError, help_text, read_settings
from .signals import void
from .worker import Automation, Worker

_SAME_SIGNAL_SECONDS = 1.0
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def batch(
    type: str, *, visibility_timeout_seconds: float = 60, secrets: Sequence[str] = ()
) -> Callable[[Function], Automation]:
    """Declares the function that runs one task of a batch automation.

    `type` is the automation type that the master knows. `visibility_timeout_seconds` is what its declaration says.
    `secrets` names the `writeOnly` fields of its config, such as "password" or "proxy.key": their values are masked in
    logs and errors. The function returns when the task succeeded, and raises when it failed: RetryIn chooses the delay
    of the retry, and Permanent moves the task to the dead letters. A coroutine is cancelled when its run has to stop. A
    plain function runs in a thread; it has to return soon after `ctx.cancelled` is set.
    """
    return lambda function: Automation(type, "batch", function, visibility_timeout_seconds, tuple(secrets))


def continuous(type: str, *, secrets: Sequence[str] = ()) -> Callable[[Function], Automation]:
    """Declares the function that each slot of a continuous automation runs, again and again. See `batch`."""
    return lambda function: Automation(type, "continuous", function, secrets=tuple(secrets))


def run(
    *automations: Automation, argv: Sequence[str] | None = None, environment: Mapping[str, str] | None = None
) -> NoReturn:
    """Runs a worker until it is drained or terminated, then exits. With several automations, the settings choose."""
    arguments = sys.argv[1:] if argv is None else argv
    if "--help" in arguments:
        sys.stdout.write(f"{sys.argv[0]}: run a worker for a master\n\n{help_text()}\n")
        sys.exit(0)
    try:
        settings = read_settings(os.environ if environment is None else environment, arguments)
        automation = _chosen(automations, settings)
    except SettingsError as error:
        lines = "".join(f"  {line}\n" for line in str(error).split("\n"))
        sys.stderr.write(f"error: the worker cannot start: faults in the settings\n{lines}next:  --help\n")
        sys.exit(2)
    log = create_log(settings.log_level, settings.log_format)
    loop = asyncio.new_event_loop()
    code = loop.run_until_complete(_work(automation, settings, log))
    sys.stdout.flush()
    if threading.active_count() > 1 or asyncio.all_tasks(loop):
        os._exit(code)  # A run that ignored its stop must not keep the process.
    loop.close()
    sys.exit(code)


def _chosen(automations: Sequence[Automation], settings: Settings) -> Automation:
    if len(automations) == 1 and not settings.automation_type:
        return automations[0]
    found = [each for each in automations if each.type == settings.automation_type]
    if len(found) == 1:
        return found[0]
    known = ", ".join(each.type for each in automations)
    raise SettingsError(f"SVC_AUTOMATION_TYPE  {settings.automation_type!r} is not declared once; declared: {known}")


async def _work(automation: Automation, settings: Settings, log: Log) -> int:
    url = urlsplit(settings.master_url)
    if url.scheme == "http" and url.hostname not in _LOOPBACK:
        log.warn(f"the token is sent unencrypted to {url.netloc}: use https, or make sure that the network is trusted")
    worker = Worker(automation, settings, log)
    loop = asyncio.get_running_loop()
    received: list[float] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _signalled, worker, log, number, received)
    loop.set_exception_handler(lambda _, context: _unhandled(worker, context))
    threading.excepthook = lambda args: void(
        loop.call_soon_threadsafe(worker.report_unhandled_error, args.exc_value or RuntimeError("a thread failed"))
    )
    return await worker.done


def _signalled(worker: Worker, log: Log, number: signal.Signals, received: list[float]) -> None:
    now = time.monotonic()
    received.append(now)
    if now - received[0] < _SAME_SIGNAL_SECONDS:
        return worker.drain(number.name)
    log.warn("stopping immediately after a second signal; running tasks are not released", signal=number.name)
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    return None


def _unhandled(worker: Worker, context: dict[str, Any]) -> None:
    error = context.get("exception")
    worker.report_unhandled_error(error if isinstance(error, BaseException) else RuntimeError(context["message"]))
