"""A project in a directory of its own, its servers real, and the command run in it as a user would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

PLAIN = Path(__file__).parent / "servers" / "plain.py"
LONGEST_RUN = 60
"""Seconds."""


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


def tool(name: str, description: str = "Does it.", **properties: Any) -> dict[str, Any]:
    """A tool whose parameters are `properties`."""
    return {"name": name, "description": description, "inputSchema": {"type": "object", "properties": properties}}


class Zygote:
    """The process of `zygote.py` that every run of this test process comes from."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "tests.zygote"],
            cwd=Path(__file__).parent.parent,
            env={name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def ask(self, request: dict[str, Any]) -> int:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


@cache
def _zygote() -> Zygote:
    return Zygote()


class Project:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.entries: dict[str, Any] = {}

    @property
    def lock(self) -> Path:
        return self.root / "mcp.lock"

    def serve(self, name: str, *tools: dict[str, Any], faults: tuple[str, ...] = (), **surface: Any) -> None:
        """Configure a server that lists `tools`, or change what it lists."""
        file = self.root / f"{name}.json"
        file.write_text(json.dumps({"tools": list(tools), **surface}), encoding="utf-8")
        flags = [f"--fault={fault}" for fault in faults]
        self.configure(name, command=sys.executable, args=[str(PLAIN), file.name, *flags])

    def configure(self, name: str, **entry: Any) -> None:
        self.entries[name] = entry
        self.save()

    def remove(self, name: str) -> None:
        del self.entries[name]
        self.save()

    def save(self) -> None:
        (self.root / ".mcp.json").write_text(json.dumps({"mcpServers": self.entries}, indent=2), encoding="utf-8")

    def run(self, *args: str, stdin: str | None = None, **env: str) -> Result:
        with TemporaryDirectory() as directory:
            files = [Path(directory, name) for name in ("in", "out", "err")]
            for file in files:
                file.write_text(stdin or "", encoding="utf-8")
            request = {
                "args": args,
                "cwd": str(self.root),
                "env": {**os.environ, **env},
                "files": list(map(str, files)),
                "seconds": LONGEST_RUN,
            }
            code = _zygote().ask(request)
            return Result(code, *(file.read_text(encoding="utf-8") for file in files[1:]))

    def git(self, *args: str) -> None:
        who = ("-c", "user.name=Test", "-c", "user.email=test@example.test", "-c", "init.defaultBranch=main")
        subprocess.run(["git", *who, *args], cwd=self.root, check=True, capture_output=True, timeout=LONGEST_RUN)
