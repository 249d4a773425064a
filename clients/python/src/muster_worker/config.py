"""Polls the worker's config: on a `config_changed` frame, after each connect, and every 30 s.

  poll ──304──▶ nothing   ──200──▶ newer? ──no──▶ nothing
    │                                └─yes─▶ valid? ──no──▶ the old one stays active, `last_error` has the reason
    └─404─▶ register again                     └─yes─▶ frozen, swapped whole (G16), applied

A config is newer when its epoch differs (the master lost its state, D15), or when its generation is higher in the same
epoch. Each poll names the generation and the digest of the applied config, so that the master notices when its store
lost that config and used the generation again (D46). The master checks the schema; the worker checks the base fields.
"""

import asyncio
import json
import random
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from .backoff import Backoff, Random, wait_for_event
from .errors import RpcError
from .limits import CONFIG_POLL_SECONDS, MAX_SLOTS, RECONNECT_BASE_SECONDS
from .logs import Log
from .rpc_client import HttpResponse

_YOUNG_SECONDS = 10
_DIGEST_HEADER = "muster-config-digest"
_ETAG = re.compile(r'(?:W/)?"(.+)\.\d+"')

Config = Mapping[str, Any]
DEFAULTS: Config = MappingProxyType({"enabled": False, "slots": 1, "max_attempts": 3, "recycle_seconds": 0})


@dataclass(frozen=True)
class _Version:
    epoch: str | None
    gen: int
    digest: str | None


@dataclass(frozen=True)
class ConfigDeps:
    """What the follower uses: how it sends GET with headers, and what it informs."""

    fetch: Callable[[Mapping[str, str]], Awaitable[HttpResponse]]
    channel_age: Callable[[], float]
    register_again: Callable[[str], None]
    on_applied: Callable[[Config], None]
    on_known: Callable[[], None]
    on_error: Callable[[str | None], None]


class ConfigFollower:
    """Follows the config of one worker. `current` is the newest applied config."""

    def __init__(self, log: Log, deps: ConfigDeps, unit: Random = random.random) -> None:
        self._log, self._deps, self._unit = log, deps, unit
        self._backoff = Backoff(RECONNECT_BASE_SECONDS, CONFIG_POLL_SECONDS, unit=unit)
        self._applied: _Version | None = None
        self._refused: _Version | None = None
        self._wanted = asyncio.Event()
        self.current: Config = DEFAULTS

    @property
    def applied_gen(self) -> int:
        """Generation for the state frame; 0 before the first config."""
        return 0 if self._applied is None else self._applied.gen

    @property
    def refused_gen(self) -> int | None:
        """Generation of the newest config, while it is rejected."""
        return None if self._refused is None else self._refused.gen

    def poll(self) -> None:
        """Polls immediately. A call during a poll causes exactly one more poll after it."""
        self._wanted.set()

    async def run(self) -> None:
        """Polls until it is cancelled. Starts at a random phase, so that a fleet does not poll simultaneously."""
        wait = self._unit() * CONFIG_POLL_SECONDS
        while True:
            await wait_for_event(self._wanted, wait)
            self._wanted.clear()
            wait = await self._fetch()

    async def _fetch(self) -> float:
        """Polls once. Returns the seconds until the next poll."""
        try:
            return self._take(await self._deps.fetch(self._marks()))
        except (RpcError, ValueError) as error:
            self._log.warn("failed to read the config, retrying", error=str(error))
            return self._backoff.next_seconds()

    def _marks(self) -> dict[str, str]:
        applied = self._applied
        if applied is None or applied.epoch is None:
            return {}
        digest = {} if applied.digest is None else {_DIGEST_HEADER: applied.digest}
        return {"if-none-match": f'"{applied.epoch}.{applied.gen}"', **digest}

    def _take(self, response: HttpResponse) -> float:
        if response.status == 404:  # Within the first seconds, the registration may not be stored yet.
            if self._deps.channel_age() >= _YOUNG_SECONDS:
                self._deps.register_again("the master has no record of this worker")
            return self._backoff.next_seconds()
        if response.status not in (200, 304):
            raise ValueError(f"the master returned HTTP {response.status}")
        if response.status == 200:
            self._consider(response)
        else:
            self._settled()
        self._backoff.reset()  # Only after a valid response: an unreadable one counts as a failure.
        self._deps.on_known()
        return CONFIG_POLL_SECONDS

    def _consider(self, response: HttpResponse) -> None:
        body = json.loads(response.text)
        gen = body.get("config_gen") if isinstance(body, dict) else None
        if not isinstance(gen, int) or isinstance(gen, bool):
            raise ValueError("the response has no config_gen")
        version = _Version(_epoch_of(response), gen, response.headers.get(_DIGEST_HEADER))
        if not self._is_newer(version):
            return self._settled()
        config = body.get("config")
        faults = _faults_of(config)
        return self._refuse(version, "; ".join(faults)) if faults else self._apply(version, config)

    def _is_newer(self, version: _Version) -> bool:
        applied = self._applied
        if applied is None:
            return True
        other_epoch = None not in (version.epoch, applied.epoch) and version.epoch != applied.epoch
        return other_epoch or version.gen > applied.gen

    def _refuse(self, version: _Version, faults: str) -> None:
        refused = self._refused
        if refused is not None and (refused.epoch, refused.gen) == (version.epoch, version.gen):
            return
        self._refused = version
        self._log.error("config rejected: the previous config stays active", config_gen=version.gen, faults=faults)
        self._deps.on_error(f"config {version.gen} rejected: {faults}")

    def _apply(self, version: _Version, config: Any) -> None:
        if self._applied is not None and version.gen <= self._applied.gen:
            self._log.warn(
                "the master lost its state: applying its config although the generation is not higher",
                epoch=version.epoch,
            )
        self._applied = version
        self.current = _frozen(config)
        self._settled()
        self._log.info("config applied", config_gen=version.gen, enabled=config["enabled"], slots=config["slots"])
        self._deps.on_applied(self.current)

    def _settled(self) -> None:
        self._refused = None
        self._deps.on_error(None)


def _epoch_of(response: HttpResponse) -> str | None:
    """Returns the epoch from the ETag, or else from the `muster-epoch` header, or None (D15, D47)."""
    match = _ETAG.fullmatch(response.headers.get("etag", ""))
    return match[1] if match else response.headers.get("muster-epoch")


def _faults_of(config: Any) -> list[str]:
    if not isinstance(config, dict):
        return ["the config: expected an object"]
    enabled, slots, recycle = config.get("enabled"), config.get("slots"), config.get("recycle_seconds", 0)
    faults = []
    if not isinstance(enabled, bool):
        faults.append("/enabled: expected a boolean")
    if not isinstance(slots, int) or isinstance(slots, bool) or not 0 <= slots <= MAX_SLOTS:
        faults.append(f"/slots: expected an integer from 0 to {MAX_SLOTS}")
    if not isinstance(recycle, int | float) or isinstance(recycle, bool) or recycle < 0:
        faults.append("/recycle_seconds: expected a number of 0 or more")
    return faults


def _frozen(value: Any) -> Any:
    """Copies a JSON value into read-only mappings and tuples."""
    if isinstance(value, dict):
        return MappingProxyType({key: _frozen(each) for key, each in value.items()})
    return tuple(_frozen(each) for each in value) if isinstance(value, list) else value
