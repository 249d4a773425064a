"""Configures schemathesis, in addition to schemathesis.toml."""

import schemathesis


def impatient(call):
    """A reserve waits up to 30 s for tasks, so a run would make only its first call."""
    params = call.get("params") if isinstance(call, dict) else None
    if isinstance(params, dict) and isinstance(params.get("wait_ms"), (int, float)) and 0 < params["wait_ms"] <= 30_000:
        params["wait_ms"] = 1
    return call


@schemathesis.hook
def map_body(context, body):
    if isinstance(body, list):
        return [impatient(call) for call in body]
    return impatient(body)
