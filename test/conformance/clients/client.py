"""Plays scenarios of the contract against a master like a worker and client written in Python: only the standard
library, a hand-written WebSocket, JSON as `json` writes it. Prints one JSON line per scenario.
Environment: MASTER_URL, ADMIN_TOKEN, WORKER_TOKEN. The master knows the types `brief` (batch) and `probe` (continuous).
"""
import base64
import json
import os
import socket
import struct
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

BIG = 9007199254740993  # 2^53 + 1, the smallest positive integer that a double cannot hold.
API = "/api/v1/automations"
MASTER = os.environ["MASTER_URL"]
ADMIN = os.environ["ADMIN_TOKEN"]
WORKER = os.environ["WORKER_TOKEN"]
TIMEOUT = 15


def require(holds, detail):
    if not holds:
        raise AssertionError(detail)


def call(method, path, body=None, token=ADMIN):
    headers = {"Authorization": "Bearer " + token, "Content-Type": "application/json; charset=utf-8"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(MASTER + API + path, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
        return json.load(response)


def message(method, params, number=1):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def rpc(method, params, number=1):
    reply = call("POST", "/brief/workers/py-1/rpc", message(method, params, number), WORKER)
    require("result" in reply, reply)
    return reply


def reserve(**optional):
    tasks = rpc("tasks.reserve", {"limit": 1, **optional})["result"]["tasks"]
    require(len(tasks) == 1, f"{len(tasks)} tasks reserved, 1 expected")
    return tasks[0]


def ack(task, token=None):
    acked = {"task_id": task["task_id"], "token": token or task["token"]}
    return rpc("tasks.ack", {"tasks": [acked]})["result"]["results"][0]


def eventually(what, holds):
    """Polls until `holds` returns true. A 404 is treated as false."""
    deadline = time.monotonic() + TIMEOUT
    while True:
        try:
            if holds():
                return
        except urllib.error.HTTPError as error:
            require(error.code == 404, f"{what}: {error}")
        require(time.monotonic() < deadline, f"{what}: timed out after {TIMEOUT} s")
        time.sleep(0.01)


class WebSocket:
    """A client of RFC 6455 that sends text frames in fragments of the given size."""

    def __init__(self, path):
        address = urllib.parse.urlsplit(MASTER)
        self.socket = socket.create_connection((address.hostname, address.port), TIMEOUT)
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [f"GET {API}{path} HTTP/1.1", f"Host: {address.netloc}", "Upgrade: websocket", "Connection: Upgrade",
                 f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13", f"Authorization: Bearer {WORKER}"]
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        head = b""
        while b"\r\n\r\n" not in head:
            part = self.socket.recv(1)
            require(part, "the master closed the connection")
            head += part
        require(head.startswith(b"HTTP/1.1 101 "), head)

    def send_frame(self, opcode, data, final):
        mask = os.urandom(4)
        size = bytes([0x80 | len(data)]) if len(data) < 126 else struct.pack(">BH", 0xFE, len(data))
        masked = bytes(byte ^ mask[i % 4] for i, byte in enumerate(data))
        self.socket.sendall(bytes([(0x80 if final else 0) | opcode]) + size + mask + masked)

    def send(self, frame, fragment=65_535):
        data = json.dumps(frame).encode()
        for at in range(0, len(data), fragment):
            if at > 0:
                self.send_frame(0x9, b"between fragments", True)  # RFC 6455 section 5.4 allows a ping here.
            self.send_frame(0x0 if at > 0 else 0x1, data[at:at + fragment], at + fragment >= len(data))


def register(kind, worker):
    """Opens a control channel and waits for the record. The optional instance_id is null."""
    channel = WebSocket(f"/{kind}/workers/{worker}/control")
    hardware = {"cores": 4, "ram_gb": 7.5, "hostname": "python", "kernel": "6.1.0"}
    channel.send({"type": "register", "worker_id": worker, "automation_type": kind, "protocol_version": 1,
                  "hardware": hardware, "instance_id": None})
    eventually("the record of " + worker, lambda: call("GET", f"/{kind}/workers/{worker}")["connected"])
    return channel


def frames():
    """Sends an output of 512 KiB in 129 fragments, with a ping after each."""
    channel = register("probe", "py-2")
    channel.send({"type": "state", "state": "RUNNING", "config_gen": 0, "ts": time.time(), "last_error": None})
    channel.send({"type": "stats", "slots": 2, "cpu_pct": 12.5, "rss_mb": 80, "ts": time.time(), "metrics": {}})
    channel.send({"type": "output", "slot_id": 1, "ts": time.time(), "payload": {"text": "x" * 512 * 1024}}, 4096)
    eventually("one output", lambda: call("GET", "/probe/output/length")["length"] == 1)

    def reported():
        record = call("GET", "/probe/workers/py-2")
        return record["connected"] and record["state"] == "RUNNING" and record["current_stats"]
    eventually("state and stats", reported)


def big_payload():
    call("POST", "/brief/tasks", {"payload": {"id": BIG}})
    items = call("GET", "/brief/queue")["items"]
    require([item["payload"]["id"] for item in items] == [BIG], items)
    task = reserve()
    require(task["payload"]["id"] == BIG, task)
    ack(task)


def since():
    for text in ("1.7953946295E9", f"{1795394629.5:e}", f"{1795394629.5:E}"):
        call("GET", "/brief/workers/py-1/stats?" + urllib.parse.urlencode({"since": text}))


def big_call_id():
    reply = rpc("kv.get", {"key": "k"}, BIG)
    require(reply["id"] == BIG, reply)


def batch():
    """Sends 8 waiting reserves of one worker in one batch. Each of them gets one of 8 tasks."""
    calls = [message("tasks.reserve", {"limit": 1, "wait_ms": 10_000}, number) for number in range(8)]
    replies = []
    waiting = threading.Thread(target=lambda: replies.extend(call("POST", "/brief/workers/py-1/rpc", calls, WORKER)))
    waiting.start()
    time.sleep(0.2)
    for _ in calls:
        call("POST", "/brief/tasks", {"payload": {}})
    waiting.join()
    require([len(reply["result"]["tasks"]) for reply in replies] == [1] * 8, replies)
    for reply in replies:
        ack(reply["result"]["tasks"][0])


def foreign_token():
    call("POST", "/brief/tasks/batch", {"tasks": [{"payload": {}}, {"payload": {}}]})
    first, second = reserve(), reserve()
    results = [ack(first), ack(second, first["token"]), ack(second)]
    require(results == [{"ok": True}, {"ok": False, "error": "lease_lost"}, {"ok": True}], results)


def nulls():
    optional = ("task_id", "priority", "ttl_seconds", "max_attempts", "idempotency_key")
    call("POST", "/brief/tasks", {"payload": {}, **dict.fromkeys(optional)})
    ack(reserve(wait_ms=None, poll_id=None))


def play(row, scenario):
    try:
        kept.append(scenario())
        print(json.dumps({"row": row, "ok": True, "detail": ""}))
    except Exception as error:  # Every failure becomes a line of the report.
        body = error.read().decode() if isinstance(error, urllib.error.HTTPError) else ""
        print(json.dumps({"row": row, "ok": False, "detail": f"{type(error).__name__}: {error} {body}"}))


kept = []  # Keeps control channels open until the end.
play("D5", lambda: register("brief", "py-1"))
play("D74", frames)
play("D75a", big_payload)
play("D76b", since)
play("D75d", big_call_id)
play("D78", batch)
play("D80a", foreign_token)
play("D76a", nulls)
