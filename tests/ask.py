"""Ask `zygote.py` for a run of mcplock; as a script, be the command `mcplock` for a shell.

    python -IS ask.py SOCKET [argument of mcplock]...

Imports nothing that takes time to load: that it takes none is what it is for.
"""

from __future__ import annotations

import _socket
import marshal
import os
import sys


def ask(path: str, args: list[str], cwd: str, env: dict[str, str], files: tuple[int, int, int], seconds: int = 0):
    """The connection of a run that has `files` for its stdin, stdout and stderr, and so many seconds, or any number."""
    line = _socket.socket(_socket.AF_UNIX)
    line.connect(path)
    held = b"".join(file.to_bytes(4, sys.byteorder) for file in files)
    line.sendmsg([b"."], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, held)])
    line.sendall(marshal.dumps((args, cwd, env, seconds)))
    return line


def answer(line: _socket.socket) -> int:
    """The next number that comes back."""
    said = b""
    while not said.endswith(b"\n"):
        part = line.recv(1)
        if not part:
            raise EOFError("the zygote is gone")
        said += part
    return int(said)


if __name__ == "__main__":
    run = ask(sys.argv[1], sys.argv[2:], os.getcwd(), dict(os.environ), (0, 1, 2))  # noqa: PTH109 - see above
    answer(run)
    code = answer(run)
    sys.exit(code if code >= 0 else 128 - code)
