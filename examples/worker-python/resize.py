"""A worker that resizes images: an example of progress, retries and permanent failures."""

from muster_worker import Context, Permanent, RetryIn, batch, run

KNOWN = {"cat.jpg", "dog.png"}


@batch("resize")
async def resize(ctx: Context) -> dict[str, object]:
    image = ctx.task.payload["image"]
    if image.startswith("slow:") and ctx.task.attempt == 1:
        raise RetryIn(0.2, "the image server is busy")
    name = image.removeprefix("slow:")
    if name not in KNOWN:
        raise Permanent(f"{name} is not an image")
    for percent in (25, 50, 75):
        await ctx.sleep(0.02)  # A real worker does a part of its work here.
        await ctx.task.progress({"percent": percent})
    ctx.log.info("resized", image=name)
    return {"path": f"small/{name}", "quality": ctx.config["quality"]}


run(resize)
