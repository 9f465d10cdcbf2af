"""A stdio server: a child process as a stream of messages, without the SDK.

Says what a person needs when it goes wrong: how the process ended, its last words on stderr, what it printed that is no
message. Never shows a value that mcplock expanded.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from typing import TYPE_CHECKING, Any

from mcp_lock.errors import ConnectError
from mcp_lock.text import one_line
from mcp_lock.transport import lines
from mcp_lock.transport.child import Child
from mcp_lock.transport.leak import of_stdio

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Self

    from mcp_lock.config import StdioServer

_INHERITED = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|TERM|TZ|LANG|LANGUAGE|LC_\w+|TMPDIR|TMP|TEMP"
    r"|(HTTPS?|FTP|ALL|NO)_PROXY"
    r"|SSL_CERT_(FILE|DIR)|NODE_EXTRA_CA_CERTS|NODE_USE_SYSTEM_CA|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|AWS_CA_BUNDLE"
    r"|GIT_SSL_CAINFO|PIP_CERT|UV_SYSTEM_CERTS|UV_NATIVE_TLS|NIX_SSL_CERT_FILE",
    re.IGNORECASE,
)
_WINDOWS = re.compile(
    r"PATHEXT|COMSPEC|SYSTEMROOT|SYSTEMDRIVE|WINDIR|APPDATA|LOCALAPPDATA|PROGRAMDATA|PROGRAMFILES.*|COMMONPROGRAMFILES.*"
    r"|USERNAME|USERPROFILE|HOMEDRIVE|HOMEPATH|PROCESSOR_ARCHITECTURE|NUMBER_OF_PROCESSORS",
    re.IGNORECASE,
)
_NOISE = re.compile(
    r"at |Node\.js v|npm (notice|warn)|npm error( code)?$|npm error A complete log|[\^~]+$", re.IGNORECASE
)
_NPM = re.compile(r"npm (error|ERR!) (\d+ )?")
_HANDSHAKE = ("server/discover", "initialize")


def environment(declared: Mapping[str, str]) -> dict[str, str]:
    """What a child gets: the variables that any program needs, and what the entry declares.

    Those are PATH, HOME, user and shell names, TERM, TMP*, LANG and LC_*, TZ, proxies and certificates, and what
    Windows needs to start anything. Keys and tokens of the surrounding shell are not among them.
    """
    passed = {name: value for name, value in os.environ.items() if _is_inherited(name)}
    return passed | dict(declared)


def _is_inherited(name: str) -> bool:
    return bool(_INHERITED.fullmatch(name)) or (sys.platform == "win32" and bool(_WINDOWS.fullmatch(name)))


class StdioTransport:
    """A `Transport` over a child's stdin and stdout. Entering starts it; leaving ends its whole process group."""

    def __init__(self, server: StdioServer) -> None:
        self._server = server
        self._mask = of_stdio(server)
        self._asked = ""
        self._junk = 0
        self._first_junk = ""

    async def __aenter__(self) -> Self:
        """Start the server. Raises `ConnectError` when that cannot be done."""
        self._child = await Child.start(self._server.argv, self._server.cwd, environment(self._server.env))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the server and everything it started, whatever happened."""
        await self._child.end()

    async def send(self, message: dict[str, Any]) -> None:
        """Write one message. Raises `ConnectError` when the server has ended."""
        if "id" in message and "method" in message:
            self._asked = message["method"]
        try:
            await self._child.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        except OSError:
            raise await self._gone() from None

    async def receive(self) -> dict[str, Any]:
        """The next message. Raises `ConnectError` when the server has ended or sent what cannot be read."""
        while (line := await self._child.line()) is not None:
            try:
                found = lines.read(line)
            except lines.Unreadable as fault:
                raise ConnectError(self._unreadable(fault)) from None
            self._note(found.junk)
            if found.message is not None:
                return found.message
        raise await self._gone()

    def negotiated(self, version: str) -> None:
        """Nothing: a pipe has no headers."""

    @property
    def notes(self) -> tuple[str, ...]:
        """That the server printed on stdout what is no message, if it did."""
        if not self._junk:
            return ()
        lines_are = "1 line on stdout is" if self._junk == 1 else f"{self._junk} lines on stdout are"
        return (f'{lines_are} no JSON-RPC and ignored, the first: "{self._first_junk}"',)

    @property
    def last_words(self) -> str:
        """The end of stderr on one line, as far as it tells something; empty when it does not."""
        # cut before it is decoded into lines, never in front of the mask: half a secret is a secret
        text = self._mask(self._child.stderr.decode("utf-8", "backslashreplace"))
        said = [line.strip() for line in re.split(r"[\r\n]+", text)]
        said = [line for line in said if line and not _NOISE.match(line)]
        npm = [_NPM.sub("npm: ", line, count=1) for line in said if _NPM.match(line)]
        return one_line(" / ".join(npm[:2] or said[-2:])[-300:], 300)

    def _note(self, junk: bytes) -> None:
        if not junk.strip():
            return
        self._junk += 1
        if self._junk == 1:
            self._first_junk = one_line(self._mask(junk[:4096].decode("utf-8", "backslashreplace")), 80)

    def _unreadable(self, fault: lines.Unreadable) -> str:
        hint = "; for a Python server, set PYTHONUTF8=1" if "UTF-8" in str(fault) else ""
        return f"the answer to {self._asked} is {fault}{hint}"

    async def _gone(self) -> ConnectError:
        """Why nothing can come any more. Asked before the child is made to end, so that its own status is told."""
        await self._child.exited(1)
        await self._child.silent(0.5)
        before = "" if self._asked in _HANDSHAKE else f" {self._asked}"
        words = self.last_words
        return ConnectError(
            f"{_end(self._child.returncode)} before answering{before}" + (f": {words}" if words else "")
        )


def _end(returncode: int | None) -> str:
    if returncode is None:
        return "closed its output"
    if returncode >= 0:
        return f"exited with status {returncode}"
    try:
        return f"was ended by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"was ended by signal {-returncode}"
