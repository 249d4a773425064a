"""The automation of `muster worker-test --manifest`, for the Python worker."""

from muster_worker import Context, batch, run


@batch("worker-test", visibility_timeout_seconds=3, secrets=("password",))
async def worker_test(ctx: Context) -> None:
    payload = ctx.task.payload
    match payload["do"]:
        case "echo":
            await ctx.emit({"value": payload.get("value"), "label": ctx.config.get("label", "")})
        case "fail":
            raise RuntimeError(payload["error"])
        case "sleep":
            await ctx.emit({"started": True})
            await ctx.sleep(payload["seconds"])
            await ctx.emit({"slept": payload["seconds"]})
        case "emit":
            pad = "x" * payload.get("bytes", 0)
            for n in range(payload["count"]):
                await ctx.emit({"n": n, "pad": pad})


run(worker_test)
