"""Serves the optional health listener of a worker: `/healthz`, `/readyz` (D59) and `/metrics`."""

import json
from collections.abc import Callable, Mapping

from aiohttp import web


async def start_health(
    host: str,
    port: int,
    why_not_ready: Callable[[], str | None],
    labels: Mapping[str, str],
    gauges: Callable[[], Mapping[str, float]],
) -> web.AppRunner:
    """Starts to listen. Raises OSError when the address cannot be used."""

    async def healthz(_: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def readyz(_: web.Request) -> web.Response:
        why = why_not_ready()
        return web.Response(text=f"{why or 'ok'}\n", status=200 if why is None else 503)

    async def metrics(_: web.Request) -> web.Response:
        named = ",".join(f"{name}={json.dumps(value)}" for name, value in labels.items())
        lines = [
            f"# TYPE svc_worker_process_{name} gauge\nsvc_worker_process_{name}{{{named}}} {value}\n"
            for name, value in gauges().items()
        ]
        return web.Response(text="".join(lines), headers={"content-type": "text/plain; version=0.0.4"})

    app = web.Application()
    app.add_routes([web.get("/healthz", healthz), web.get("/readyz", readyz), web.get("/metrics", metrics)])
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, host or None, port).start()
    return runner
