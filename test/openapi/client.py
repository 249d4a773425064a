"""A client of a Muster master that uses only its openapi.json: the operations, their parameters and bodies.
Usage: client.py URL TOKEN TYPE PAYLOAD; prints the result of the task."""

import json
import sys
import time
import urllib.parse
import urllib.request


class Client:
    def __init__(self, url, token):
        self.url, self.token = url, token
        document = json.load(urllib.request.urlopen(f"{url}/api/v1/openapi.json"))
        self.operations = {
            operation["operationId"]: (method.upper(), path, operation)
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
        }

    def __getattr__(self, operation_id):
        """Every operation is a method, and its parameters are keyword arguments; `body` is the body."""
        method, path, operation = self.operations[operation_id]

        def call(body=None, **arguments):
            places = {parameter["name"]: parameter["in"] for parameter in operation["parameters"]}
            filled, query, headers = path, {}, {}
            for name, value in arguments.items():
                if places[name] == "path":
                    filled = filled.replace("{%s}" % name, urllib.parse.quote(str(value), safe=""))
                elif places[name] == "query":
                    query[name] = value
                else:
                    headers[name] = value
            if operation["security"]:
                headers["Authorization"] = f"Bearer {self.token}"
            data = None
            if body is not None:
                (media,) = operation["requestBody"]["content"]
                headers["Content-Type"], data = media, json.dumps(body).encode()
            address = f"{self.url}{filled}?{urllib.parse.urlencode(query)}"
            with urllib.request.urlopen(urllib.request.Request(address, data, headers, method=method)) as response:
                status = response.status
                assert str(status) in operation["responses"], f"{operation_id}: {status} is not documented"
                return json.load(response)

        return call


url, token, automation, payload = sys.argv[1:]
api = Client(url, token)
example = api.operations["post_automations_type_tasks"][2]["requestBody"]["content"]["application/json"]["example"]
task = api.post_automations_type_tasks(type=automation, body={**example, "payload": json.loads(payload)})
deadline = time.monotonic() + 30
while not (entries := api.get_automations_type_output_peek(type=automation, n=5)):
    assert time.monotonic() < deadline, "there was no output within 30 s"
    time.sleep(0.05)
print(json.dumps({"task": task, "output": entries[0]["payload"]}))
