"""The command as a process that is forked from one which has loaded it: what `subprocess` is to one started anew."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from functools import cache, cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING, Self

from tests.ask import answer, ask

if TYPE_CHECKING:
    from collections.abc import Mapping

LOGIN = ("mcp_lock.oauth.flow", "keyring")
"""What logging in loads on top: the SDK, which takes seconds."""


class Zygote:
    """The process of `zygote.py` that runs of this test process come from."""

    def __init__(self, *modules: str) -> None:
        self._directory = TemporaryDirectory()
        self.socket = str(Path(self._directory.name, "s"))
        self._process = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "tests.zygote", self.socket, *modules],
            cwd=Path(__file__).parent.parent,
            env={name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout
        assert self._process.stdout.readline() == b"ready\n"

    @cached_property
    def command(self) -> Path:
        """A script that is the command `mcplock` to a shell."""
        script = Path(self._directory.name, "mcplock")
        script.write_text(
            f'#!/bin/sh\nexec "{sys.executable}" -IS "{Path(ask.__code__.co_filename)}" {self.socket} "$@"\n'
        )
        script.chmod(0o755)
        return script


zygote = cache(Zygote)
"""`zygote(*modules)`: the one that has loaded these modules as well."""


class Forked:
    """One run of the command, as `subprocess.Popen` would be."""

    def __init__(
        self,
        args: list[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        stdin: int | IO | None = None,
        stdout: int | IO | None = None,
        stderr: int | IO | None = None,
        modules: tuple[str, ...] = (),
        seconds: int = 0,
    ) -> None:
        self.returncode: int | None = None
        with contextlib.ExitStack() as theirs:
            files = [_file(theirs, given, at) for at, given in enumerate((stdin, stdout, stderr))]
            self.stdin, self.stdout, self.stderr = (ours for _, ours in files)
            held = tuple(their for their, _ in files)
            self._line = ask(zygote(*modules).socket, list(args), str(cwd), dict(env), held, seconds)
        self.pid = answer(self._line)

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            self._line.settimeout(timeout)
            try:
                self.returncode = answer(self._line)
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired("mcplock", timeout or 0) from None
            self._line.close()
        return self.returncode

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for file in (self.stdin, self.stdout, self.stderr):
            if file:
                file.close()
        self.wait()


def _file(theirs: contextlib.ExitStack, given: int | IO | None, at: int) -> tuple[int, IO | None]:
    """What the process gets as its file number `at`, and the end of a pipe that its starter keeps."""
    if given == subprocess.PIPE:
        read, write = os.pipe()
        their, our = (write, read) if at else (read, write)
        theirs.callback(os.close, their)
        return their, open(our, "rb" if at else "wb")  # noqa: PTH123 - a pipe has no path
    if given == subprocess.DEVNULL:
        their = os.open(os.devnull, os.O_RDWR)
        theirs.callback(os.close, their)
        return their, None
    return (at if given is None else given if isinstance(given, int) else given.fileno()), None
