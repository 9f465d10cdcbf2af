"""A stdio proxy that changes nothing and writes down every line: `tee.py FILE COMMAND ARG...`.

Lines of the client stand behind `>` in FILE, lines of the server behind `<`.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO


def _copy(source: IO[bytes], target: IO[bytes], mark: bytes, record: IO[bytes], lock: threading.Lock) -> None:
    for line in source:
        with lock:
            record.write(mark + line)
            record.flush()
        target.write(line)
        target.flush()


def main() -> int:
    """Stand between stdin and stdout and the command; its exit code."""
    file, *command = sys.argv[1:]
    lock = threading.Lock()
    with (
        Path(file).open("ab") as record,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as end,
    ):
        assert end.stdin
        assert end.stdout
        signal.signal(signal.SIGTERM, lambda number, _: end.send_signal(number))
        back = threading.Thread(target=_copy, args=(end.stdout, sys.stdout.buffer, b"<", record, lock))
        back.start()
        _copy(sys.stdin.buffer, end.stdin, b">", record, lock)
        end.stdin.close()
        back.join()
    return end.returncode


if __name__ == "__main__":
    sys.exit(main())
