"""Submits a batch of tasks and prints the results as the tasks end. Usage: submit.py URL IMAGE…"""

import json
import sys
from pathlib import Path
from urllib.request import Request, urlopen

url, *images = sys.argv[1:]
token = Path(".muster/admin-token").read_text().strip()


def call(path: str, body: dict) -> dict:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = Request(f"{url}/api/v1/automations/thumbnails/{path}", json.dumps(body).encode(), headers)
    with urlopen(request, timeout=30) as response:
        return json.load(response)


tasks = [
    {
        "payload": {"image": image, "width": 320},
        "idempotency_key": f"thumbnail-{image}-320",
        "retain_seconds": 300,
    }
    for image in images
]
results = call("tasks/batch", {"tasks": tasks})["results"]
waiting = {result["task_id"]: image for result, image in zip(results, images, strict=True)}
while waiting:
    # Returns when one of the tasks has ended, or after 20 seconds.
    states = call("tasks/await", {"task_ids": list(waiting)[:100], "wait_seconds": 20})["results"]
    for state in states:
        if state["place"] in ("done", "dead", "expired", "cancelled"):
            image = waiting.pop(state["task_id"])
            print(f"{image}: {state['place']} {(state.get('result') or {}).get('path', '')}".rstrip())
