"""A client on a guarded server: real processes, raw JSON-RPC, and what each side has seen."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

from mcp_lock import lockfile
from mcp_lock.contract import Contract, Kind, Surface
from mcp_lock.lockfile import Lock, ServerPin
from tests.forked import Forked
from tests.project import PLAIN

if TYPE_CHECKING:
    from pathlib import Path

MODERN = "2026-07-28"
LONGEST = 30
"""Seconds that anything may take."""
_META = "io.modelcontextprotocol/"


class Client:
    """A client that speaks raw JSON-RPC to mcplock, and keeps every byte it hears.

    `command` is what is started in front of `args`; without one it is mcplock itself, forked.
    """

    def __init__(
        self, args: list[str], cwd: Path, era: str, name: str = "tester", command: tuple[str, ...] = ()
    ) -> None:
        self.era, self.name = era, name
        self.heard: list[bytes] = []
        self._errors = (cwd / "stderr.txt").open("ab")
        start = subprocess.Popen if command else Forked
        self.process = start(
            [*command, *args],
            cwd=cwd,
            env=os.environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._last = 0
        self._early: dict[str, dict[str, Any]] = {}
        self.others: list[dict[str, Any]] = []
        """What came that answers no request."""

    def _read(self) -> None:
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def send(self, message: dict[str, Any] | bytes) -> None:
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any] | None:
        """The next message; None at the end."""
        line = self._lines.get(timeout=LONGEST)
        if line is None:
            return None
        self.heard.append(line)
        return json.loads(line)

    def stamped(self, params: dict[str, Any]) -> dict[str, Any]:
        if self.era == "legacy":
            return params
        info = {"name": self.name, "version": "1"}
        meta = {"protocolVersion": MODERN, "clientInfo": info, "clientCapabilities": {}}
        return {**params, "_meta": {_META + key: value for key, value in meta.items()}}

    def ask(self, method: str, params: dict[str, Any] | None = None, number: Any = None) -> Any:
        """Send a request; returns its id."""
        self._last += 1
        number = self._last if number is None else number
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": self.stamped(params or {})})
        return number

    def answer(self, number: Any) -> dict[str, Any]:
        """The answer to a request."""
        key = json.dumps(number)
        while key not in self._early:
            message = self.receive()
            assert message is not None, f"the guard ended without an answer to {key}"
            if "method" in message or message.get("id") is None:
                self.others.append(message)
            else:
                self._early[json.dumps(message["id"])] = message
        return self._early.pop(key)

    def request(self, method: str, params: dict[str, Any] | None = None, number: Any = None) -> dict[str, Any]:
        return self.answer(self.ask(method, params, number))

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return self.request("tools/call", {"name": tool, "arguments": arguments})

    def greet(self) -> dict[str, Any]:
        if self.era == "modern":
            return self.request("server/discover")
        info = {"name": self.name, "version": "1"}
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
        answer = self.request("initialize", params)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    def close(self) -> int:
        """End the input and wait for the end; the exit code."""
        self.process.stdin.close()
        return self.wait()

    def wait(self) -> int:
        code = self.process.wait(LONGEST)
        self._reader.join(LONGEST)
        return code

    def end(self) -> None:
        """Make sure that nothing stays, whatever a test did."""
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(LONGEST)
        self._reader.join(LONGEST)
        for stream in (self.process.stdin, self.process.stdout, self._errors):
            try:
                stream.close()
            except BrokenPipeError:
                continue


def pins(**surface: Any) -> Surface:
    """A surface as a lock holds it, from lists by the names of their results' members."""
    items = {
        kind: {contract.name: contract for contract in (Contract(kind, one) for one in surface[kind.member])}
        for kind in Kind
        if kind.member in surface
    }
    return Surface(items, surface.get("instructions"))


class Guarded:
    """One server behind a guard, with one client in front; all in one directory."""

    def __init__(self, root: Path, era: str, **surface: Any) -> None:
        self.root, self.era = root, era
        self.client: Client
        self.serve(**surface)
        self.pin(**surface)

    @property
    def lock(self) -> Path:
        return self.root / "mcp.lock"

    def serve(self, raw: str = "", **surface: Any) -> None:
        """What the server serves from now on; `raw` where the spelling counts."""
        fresh = self.root / "surface.tmp"
        fresh.write_text(raw or json.dumps(surface), encoding="utf-8")
        fresh.replace(self.root / "surface.json")

    def pin(self, server: str = "s", **surface: Any) -> None:
        """What the lock holds from now on."""
        lockfile.write(self.lock, Lock({server: ServerPin(None, pins(**surface))}))

    def args(self, *faults: str, options: tuple[str, ...] = (), page_size: int = 0) -> list[str]:
        server = [sys.executable, str(PLAIN), "surface.json", "--log", "seen.jsonl", f"--page-size={page_size}"]
        server += [f"--fault={fault}" for fault in faults]
        return ["guard", "--server", "s", "--log", "guard.jsonl", *options, "--", *server]

    def start(self, *faults: str, greet: bool = True, command: tuple[str, ...] = (), **how: Any) -> Client:
        """Start client, guard and server, and shake hands."""
        self.client = Client(self.args(*faults, **how), self.root, self.era, command=command)
        if greet:
            self.client.greet()
        return self.client

    def seen(self, method: str = "") -> list[dict[str, Any]]:
        """What the server has received of that method."""
        path = self.root / "seen.jsonl"
        if not path.exists():
            return []
        messages = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return [message for message in messages if not method or message.get("method") == method]

    def log(self, decision: str = "") -> list[dict[str, Any]]:
        """What the guard has logged."""
        path = self.root / "guard.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [one for one in map(json.loads, lines) if not decision or one["decision"] == decision]

    @property
    def stderr(self) -> str:
        return (self.root / "stderr.txt").read_text(encoding="utf-8")
