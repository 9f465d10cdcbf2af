"""A process that has loaded mcplock once, and becomes the command in a child of its own for every run.

    python -W error -m tests.zygote SOCKET [MODULE]...        until its stdin ends; a line on stdout when it is ready

What loading costs is most of what a short run costs, and a suite has many. A run differs from one that is started anew
in nothing but that: its own process, arguments, directory, environment and files. Each has a connection of its own, as
`ask.py` makes it; back comes a line with the id of the process, and one with its exit code, negative for a signal.
The MODULEs are loaded as well, for runs that would load them.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import marshal
import os
import pkgutil
import select
import signal
import socket
import sys
import traceback

import mcp_lock

_NOT_NEEDED = ("mcp_lock.__main__", "mcp_lock.oauth.flow")
"""Modules that must be loaded by the run itself: what starts it, and what loads the SDK."""
_LAZY = ("anyio._backends._asyncio", "anyio.to_thread", "h11", "httpcore2", "jsonschema_rs", "truststore")
"""What a run loads beside them when it connects or compares."""


def load(*more: str) -> None:
    """Import every module of the package."""
    package = (module.name for module in pkgutil.walk_packages(mcp_lock.__path__, "mcp_lock."))
    for name in (*(name for name in package if name not in _NOT_NEEDED), *_LAZY, *more):
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # else every child would copy what the collector touches


def serve(path: str) -> None:
    """Take runs until stdin ends, and tell each caller how its run has ended."""
    callers: dict[int, socket.socket] = {}
    woken, wake = socket.socketpair()  # how the end of a child ends the wait for the next event
    wake.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(64)
        os.write(1, b"ready\n")
        while 0 not in (ready := select.select([0, woken, listener], [], [])[0]):
            if woken in ready:
                woken.recv(64)
                _tell(callers)
            if listener in ready:
                caller = listener.accept()[0]
                if not (child := os.fork()):
                    _become(caller)
                callers[child] = caller


def _tell(callers: dict[int, socket.socket]) -> None:
    """Send the exit codes of all runs that have ended since."""
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            with callers.pop(ended[0]) as caller, contextlib.suppress(BrokenPipeError):
                caller.sendall(b"%d\n" % os.waitstatus_to_exitcode(ended[1]))


def _become(caller: socket.socket) -> None:
    """Be the command that the caller asks for, and end."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _, files, _, _ = socket.recv_fds(caller, 1, 3)
        with caller, caller.makefile("rb") as asked:
            request = marshal.load(asked)
            caller.sendall(b"%d\n" % os.getpid())
        code = _command(*request, files)
    except BaseException:  # noqa: BLE001 - as Python itself does it
        traceback.print_exc()
    finally:
        os._exit(code)


def _command(args: list[str], cwd: str, env: dict[str, str], seconds: int, files: list[int]) -> int:
    for at, file in enumerate(files):
        os.dup2(file, at)
        os.close(file)
    signal.alarm(seconds)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = ["mcplock", *args]
    from mcp_lock.__main__ import main

    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


if __name__ == "__main__":
    load(*sys.argv[2:])
    serve(sys.argv[1])
    os._exit(0)  # callers that still wait are closed with it
