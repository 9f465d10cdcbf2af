"""A project in a directory of its own, its servers real, and the command run in it as a user would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.forked import Forked

MCPLOCK = (sys.executable, "-W", "error", "-m", "mcp_lock")
"""The command, started anew: for what a fork could hide."""
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
            names = [Path(directory, name) for name in ("in", "out", "err")]
            names[0].write_text(stdin or "", encoding="utf-8")
            with names[0].open() as given, names[1].open("w") as out, names[2].open("w") as err:
                run = Forked(
                    args,
                    cwd=self.root,
                    env={**os.environ, **env},
                    stdin=given,
                    stdout=out,
                    stderr=err,
                    seconds=LONGEST_RUN,
                )
            return Result(run.wait(), *(file.read_text(encoding="utf-8") for file in names[1:]))

    def git(self, *args: str) -> None:
        who = ("-c", "user.name=Test", "-c", "user.email=test@example.test", "-c", "init.defaultBranch=main")
        subprocess.run(["git", *who, *args], cwd=self.root, check=True, capture_output=True, timeout=LONGEST_RUN)
