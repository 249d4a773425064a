"""Reads the settings of a worker. Each is an environment variable SVC_SOME_NAME and a flag --some-name, which wins.

All faults are reported together. The token is never a flag: it is read from SVC_WORKER_TOKEN, or from the file that
SVC_WORKER_TOKEN_FILE names, which is read again every 2 s (D22, D34, D54).
"""

import asyncio
import re
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from .labels import parse_labels
from .logs import LEVELS, Log

_REREAD_SECONDS = 2
_TOKEN, _TOKEN_FILE = "SVC_WORKER_TOKEN", "SVC_WORKER_TOKEN_FILE"
_DEFAULTS = {
    "SVC_MASTER_URL": ("", "URL of the master, or of the TLS proxy in front of it."),
    "SVC_AUTOMATION_TYPE": ("", "Type that this worker runs; not needed when the program declares one."),
    "SVC_WORKER_ID": (socket.gethostname(), "ID of this worker, unique within its automation type."),
    "SVC_WORKER_LABELS": ("", "Labels of this worker as KEY=VALUE pairs, for example zone=eu-1,tier=spot."),
    "SVC_DRAIN_TIMEOUT_SECONDS": ("30", "How long running tasks may take to finish after SIGTERM."),
    "SVC_HEALTH_LISTEN": ("", "host:port for /healthz, /readyz and /metrics."),
    "SVC_LOG_FORMAT": ("text", "Log format: text or json."),
    "SVC_LOG_LEVEL": ("info", "Minimum log level: debug, info, warn, error."),
}


class SettingsError(Exception):
    """Every fault of a start, one per line."""


@dataclass(frozen=True)
class Settings:
    """The checked settings. `health_listen` is host and port."""

    master_url: str
    token: str
    token_file: str
    automation_type: str
    worker_id: str
    labels: Mapping[str, str]
    drain_timeout_seconds: float
    health_listen: tuple[str, int] | None
    log_format: str
    log_level: str


def flag_of(name: str) -> str:
    """Returns the flag of a setting: `--master-url` of SVC_MASTER_URL."""
    return "--" + name.removeprefix("SVC_").lower().replace("_", "-")


def help_text() -> str:
    """Describes all settings."""
    rows = [f"  {flag_of(name)}, {name}\n      {text}" for name, (_, text) in _DEFAULTS.items()]
    return "\n".join([*rows, f"  {_TOKEN} or {_TOKEN_FILE}\n      Token of the workers; not a flag."])


def read_settings(environment: Mapping[str, str], argv: Sequence[str]) -> Settings:
    """Reads the settings. Raises SettingsError with all faults, which never contains the token."""
    faults: list[str] = []
    values = {name: environment.get(name) or default for name, (default, _) in _DEFAULTS.items()}
    _read_flags(values, argv, faults)
    token = _read_token(environment, faults)
    for name, problem in _problems_of(values):
        faults.append(f"{name}  {problem}")
    labels: Mapping[str, str] = {}
    try:
        labels = parse_labels(values["SVC_WORKER_LABELS"])
    except ValueError as error:
        faults.append(f"SVC_WORKER_LABELS  {error}")
    if faults:
        raise SettingsError("\n".join(faults))
    listen = values["SVC_HEALTH_LISTEN"]
    return Settings(
        master_url=values["SVC_MASTER_URL"],
        token=token,
        token_file=environment.get(_TOKEN_FILE, ""),
        automation_type=values["SVC_AUTOMATION_TYPE"],
        worker_id=values["SVC_WORKER_ID"],
        labels=labels,
        drain_timeout_seconds=float(values["SVC_DRAIN_TIMEOUT_SECONDS"]),
        health_listen=_host_port(listen) if listen else None,
        log_format=values["SVC_LOG_FORMAT"],
        log_level=values["SVC_LOG_LEVEL"],
    )


def _read_flags(values: dict[str, str], argv: Sequence[str], faults: list[str]) -> None:
    by_flag = {flag_of(name): name for name in _DEFAULTS}
    words = iter(argv)
    for word in words:
        flag, equals, text = word.partition("=")
        if flag not in by_flag:
            faults.append(f"{flag}  is not a flag; known: {', '.join(by_flag)}")
            continue
        value = text if equals else next(words, None)
        if not value:
            faults.append(f"{flag}  needs a value")
        else:
            values[by_flag[flag]] = value


def _read_token(environment: Mapping[str, str], faults: list[str]) -> str:
    text, file = environment.get(_TOKEN, ""), environment.get(_TOKEN_FILE, "")
    if text and file:
        faults.append(f"{_TOKEN}  and {_TOKEN_FILE} are both set; unset one of them")
    elif file:
        try:
            with open(file, encoding="utf-8") as opened:
                text = opened.read().strip()
        except (OSError, ValueError) as error:
            faults.append(f"{_TOKEN_FILE}  cannot be read: {type(error).__name__}")
            return ""
    if not text:
        faults.append(f"{_TOKEN}  is required; set it, or give {_TOKEN_FILE}")
    return text


def _problems_of(values: Mapping[str, str]) -> list[tuple[str, str]]:
    worker_id = values["SVC_WORKER_ID"]
    is_id = re.fullmatch("[^/\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,256}", worker_id) and worker_id not in (".", "..")
    timeout, listen = values["SVC_DRAIN_TIMEOUT_SECONDS"], values["SVC_HEALTH_LISTEN"]
    checks = [
        (
            "SVC_MASTER_URL",
            _is_url(values["SVC_MASTER_URL"]),
            "is not an http or https URL without credentials and query",
        ),
        ("SVC_WORKER_ID", is_id, "is not 1 to 256 characters without / and control characters"),
        ("SVC_DRAIN_TIMEOUT_SECONDS", re.fullmatch(r"\d{1,9}(\.\d+)?", timeout), "is not a number of 0 or more"),
        ("SVC_HEALTH_LISTEN", not listen or _host_port(listen), "is not host:port; for example 0.0.0.0:8080"),
        ("SVC_LOG_FORMAT", values["SVC_LOG_FORMAT"] in ("text", "json"), "is not text or json"),
        ("SVC_LOG_LEVEL", values["SVC_LOG_LEVEL"] in LEVELS, f"is not one of {', '.join(LEVELS)}"),
    ]
    return [(name, problem) for name, ok, problem in checks if not ok]


def _is_url(text: str) -> bool:
    try:
        url = urlsplit(text)
        is_plain = not (url.username or url.password or url.query or url.fragment)
        return url.scheme in ("http", "https") and bool(url.hostname) and is_plain and url.port != 0
    except ValueError:
        return False


def _host_port(text: str) -> tuple[str, int] | None:
    match = re.fullmatch(r"(?:\[([0-9a-fA-F:.]+)\]|([^:\s]*)):(\d{1,5})", text)
    if match is None or int(match[3]) > 65_535:
        return None
    return match[1] or match[2] or "", int(match[3])


class Token:
    """The current token. Keeps the last good value while its file is missing or empty."""

    def __init__(self, settings: Settings, log: Log) -> None:
        self._file, self._log, self.value = settings.token_file, log, settings.token

    async def run(self) -> None:
        """Reads the file again every 2 s, until it is cancelled."""
        while self._file:
            await asyncio.sleep(_REREAD_SECONDS)
            try:
                with open(self._file, encoding="utf-8") as opened:
                    text = opened.read().strip()
            except (OSError, ValueError):
                text = ""
            if not text:
                self._log.warn(f"{_TOKEN_FILE} cannot be read or is empty; keeping the last good value")
            elif text != self.value:
                self.value = text
                self._log.info(f"{_TOKEN} was rotated")
