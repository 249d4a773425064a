"""Runs the types of test/e2e/automations/python.mjs. The payload of a task selects what its run does."""

import asyncio
import atexit
import json
import os
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from muster_worker import Context, Permanent, RetryIn, batch, continuous, run

FOLDER = Path(os.environ["FOLDER"])


async def hold(ctx: Context, name: str) -> None:
    """Writes `NAME.started`, and waits for the file `NAME.go`."""
    with (FOLDER / f"{name}.started").open("a") as file:
        file.write(f"{os.getpid()}\n")
    while not (FOLDER / f"{name}.go").exists():
        await ctx.sleep(0.02)


async def use_primitives(ctx: Context) -> None:
    await ctx.kv.set("k", {"text": "\U0001f389"}, ttl_seconds=60)
    held = await ctx.lock.acquire("door", hold_seconds=5)
    assert held is not None
    async with held:
        refused = await ctx.lock.acquire("door", hold_seconds=5) is None
    await ctx.pool("seats").put([{"id": "a", "payload": {}, "tags": {"row": "1"}}])
    seat = await ctx.pool("seats").claim(hold_seconds=5, match={"row": "1"})
    assert seat is not None
    async with seat:
        await ctx.emit(
            {
                "value": await ctx.kv.get("k"),
                "refused": refused,
                "again": (await ctx.counter.add("n", 2), await ctx.counter.get("n")),
                "seat": seat.id,
            }
        )


# None of them is the token of a lease.
TOKENS = [0, 1, -1, 1.5, 2**53 - 1, 2**53, 2**63, "1", True, [], {}]
ENDS: dict[str, dict[str, Any]] = {
    "tasks.ack": {},
    "tasks.nack": {"error": "a lie", "permanent": True},
    "tasks.release": {},
    "tasks.extend": {},
}


def lie(task_id: str) -> list[tuple[str, Any]]:
    """Ends the lease of a task with tokens that were not given for it. Returns the response to each call."""
    env = os.environ
    path = f"/api/v1/automations/{env['SVC_AUTOMATION_TYPE']}/workers/{env['SVC_WORKER_ID']}/rpc"
    headers = {"authorization": f"Bearer {env['SVC_WORKER_TOKEN']}", "content-type": "application/json"}
    responses = []
    for token in TOKENS:
        for method, more in ENDS.items():
            params = {"tasks": [{"task_id": task_id, "token": token, **more}]}
            body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
            with urlopen(Request(env["SVC_MASTER_URL"] + path, body, headers)) as response:
                responses.append((method, json.load(response)))
    return responses


async def work(ctx: Context) -> None:
    payload = ctx.task.payload
    match payload["do"]:
        case "emit":
            for n in range(payload["n"]):
                await ctx.emit({"task_id": ctx.task.id, "n": n, "greeting": ctx.config["greeting"]})
        case "hold":
            await hold(ctx, payload["name"])
            await ctx.emit({"name": payload["name"], "attempt": ctx.task.attempt, "pid": os.getpid()})
        case "hold, then emit":
            await hold(ctx, payload["name"])
            for n in range(payload["n"]):
                await ctx.emit({"n": n})
            (FOLDER / f"{payload['name']}.emitted").touch()
        case "lie":
            await ctx.emit({"responses": await asyncio.to_thread(lie, ctx.task.id), "attempt": ctx.task.attempt})
        case "fail twice":
            await ctx.task.progress({"attempt": ctx.task.attempt})
            if ctx.task.attempt == 0:
                raise RetryIn(0.2, "later")
            if ctx.task.attempt == 1:
                raise ValueError("not yet")
            await ctx.emit({"attempt": ctx.task.attempt, "last_progress": ctx.task.last_progress})
        case "give up":
            raise Permanent(f"the password is {ctx.config['password']}")
        case "exit":
            raise SystemExit("a run must not end the worker")
        case "log":
            ctx.log.debug("not written")
            ctx.log.info(f"login with {ctx.config['password']}", headers={"auth": [ctx.config["password"]]}, n=1)
            await ctx.pool("held").put([{"id": "h", "payload": {}}])
            seat = await ctx.pool("held").claim(hold_seconds=5)
            assert seat is not None
            async with seat:
                await ctx.emit({"n": 1})
                await hold(ctx, payload["name"])
            raise ValueError(f"{ctx.config['password']} failed after 17 ms")
        case "primitives":
            await use_primitives(ctx)
        case "end the second time" if not (FOLDER / "never.why").exists():
            (FOLDER / "never.started").touch()
            try:
                await asyncio.Event().wait()
            finally:
                (FOLDER / "never.why").write_text(str(ctx.why))


py = batch("py", secrets=("password",))(work)
py_long = batch("py-long", secrets=("password",))(work)


@batch("py-plain")
def py_plain(ctx):
    if ctx.task.payload["do"] == "emit":
        ctx.emit({"n": ctx.counter.add("plain", 1), "greeting": ctx.config["greeting"]})
        ctx.task.extend()
    else:
        (FOLDER / "plain.waits").touch()
        ctx.cancelled.wait()
        (FOLDER / "plain.why").write_text(str(ctx.why))


@continuous("py-ticks")
async def py_ticks(ctx: Context) -> None:
    while True:
        await ctx.emit({"greeting": ctx.config["greeting"]})
        ctx.metrics.counter("ticks").add()
        await ctx.sleep(0.1)


atexit.register(lambda: (FOLDER / f"{os.getpid()}.exit").touch())
run(py, py_long, py_plain, py_ticks)
