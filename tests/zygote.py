"""A process that has loaded mcplock once, and becomes the command in a child of its own for every run.

    python -W error -m tests.zygote        a request a line on stdin, the exit code a line on stdout

What loading costs is most of what a short run costs, and a suite has many. A run differs from one that is started anew
in nothing but that: its own process, arguments, directory, environment and files.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import signal
import sys
import traceback
from typing import Any

import mcp_lock

_NOT_NEEDED = ("mcp_lock.__main__", "mcp_lock.oauth.flow")
"""Modules that must be loaded by the run itself: what starts it, and what loads the SDK."""


def load() -> None:
    """Import every module of the package."""
    for module in pkgutil.walk_packages(mcp_lock.__path__, "mcp_lock."):
        if module.name not in _NOT_NEEDED:
            importlib.import_module(module.name)


def serve() -> None:
    """Answer requests until there are no more."""
    # not through `sys.stdin`, whose buffer a child would inherit
    waiting = b""
    while True:
        line, found, rest = waiting.partition(b"\n")
        if not found:
            more = os.read(0, 1 << 16)
            if not more:
                return
            waiting += more
            continue
        waiting = rest
        os.write(1, b"%d\n" % _run(json.loads(line)))


def _run(request: dict[str, Any]) -> int:
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 70
    try:
        code = _command(request)
    except BaseException:  # noqa: BLE001 - a test is to see it, as it would see any traceback
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _command(request: dict[str, Any]) -> int:
    signal.alarm(request["seconds"])
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    flags = os.O_RDONLY, os.O_WRONLY, os.O_WRONLY
    for at, (path, flag) in enumerate(zip(request["files"], flags, strict=True)):
        os.dup2(os.open(path, flag), at)
    sys.argv = ["mcplock", *request["args"]]
    from mcp_lock.__main__ import main

    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


if __name__ == "__main__":
    load()
    serve()
