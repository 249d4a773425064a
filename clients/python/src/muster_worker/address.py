"""Builds the URLs of one worker's routes at the master. Keeps a path prefix, as a reverse proxy may add one."""

from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from .limits import API_PREFIX


@dataclass(frozen=True)
class WorkerAddress:
    """The URLs of the routes of one worker."""

    config_url: str
    rpc_url: str
    bus_url: str
    control_url: str


def worker_address(master_url: str, automation_type: str, worker_id: str) -> WorkerAddress:
    """Builds the URLs for one worker. `master_url` is checked by the settings."""
    url = urlsplit(master_url)
    path = f"{url.path.rstrip('/')}{API_PREFIX}/automations/{quote(automation_type, safe='')}"
    worker = f"{url.netloc}{path}/workers/{quote(worker_id, safe='')}"
    base = f"{url.scheme}://{worker}"
    socket_scheme = "wss" if url.scheme == "https" else "ws"
    return WorkerAddress(
        config_url=f"{base}/config",
        rpc_url=f"{base}/rpc",
        bus_url=f"{base}/bus",
        control_url=f"{socket_scheme}://{worker}/control",
    )
