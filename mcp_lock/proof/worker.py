"""A process of its own for judgements that could take long, ended when their time is over.

A prover in native code cannot be interrupted, and a schema that a server wrote may be made to stall it, to exhaust
memory or to crash it. One worker serves a whole run; it is started when it is first needed and has no part in the
caller's environment. It speaks lines of JSON.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from threading import Lock, Timer
from typing import IO, Any

from mcp_lock.outcome import ABSENT, Confidence, Impact
from mcp_lock.proof.questions import Direction, Verdict, decided, unproven

SECONDS = 2.0
"""For one judgement, the start of the process not counted."""
_START_SECONDS = 20.0
_STOPS = 4
"""Workers that may be lost in a run; after that nothing that needs one is judged."""
_MEMORY = 2 << 30
"""Bytes of address space, where the system can limit it."""


class _Worker:
    """The one worker of this process; safe to use from several threads, one judgement at a time."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.process: subprocess.Popen[str] | None = None
        self.lost = 0

    def ask(self, old: str, new: str, direction: Direction, seconds: float) -> Verdict:
        with self.lock:
            if self.lost >= _STOPS:
                return unproven("Too many schemas of this run could not be judged in time.")
            try:
                process = self.process or self._start()
                answer = _answer(process, json.dumps([old, new, direction.value]), seconds)
            except OSError:
                answer = ""
            if answer:
                return _verdict(json.loads(answer))
            self.lost += 1
            self.stop()
            return unproven("It could not be judged in the time allowed.")

    def _start(self) -> subprocess.Popen[str]:
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "mcp_lock.proof.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(),
            text=True,
            encoding="utf-8",
        )
        atexit.register(self.stop)
        _answer(self.process, "null", _START_SECONDS)
        return self.process

    def stop(self) -> None:
        """Ends the worker, if there is one."""
        process, self.process = self.process, None
        atexit.unregister(self.stop)
        if process is not None:
            process.kill()
            process.communicate()


def _environment() -> dict[str, str]:
    """Nothing of the caller's but where Python finds its modules: a judgement needs no secrets."""
    kept = {name: os.environ[name] for name in ("PYTHONHOME", "SYSTEMROOT") if name in os.environ}
    return {**kept, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "PYTHONUTF8": "1"}


def _answer(process: subprocess.Popen[str], line: str, seconds: float) -> str:
    """The worker's next line; empty when it ended, which it is made to when the time is over. Raises OSError."""
    assert process.stdin is not None
    assert process.stdout is not None
    timer = Timer(seconds, process.kill)
    timer.start()
    try:
        process.stdin.write(line + "\n")
        process.stdin.flush()
        return process.stdout.readline()
    finally:
        timer.cancel()


def _verdict(answer: dict[str, Any]) -> Verdict:
    return Verdict(
        Impact[answer["impact"]], Confidence(answer["confidence"]), answer["reason"], answer.get("witness", ABSENT)
    )


def _written(verdict: Verdict) -> dict[str, Any]:
    witness = {} if verdict.witness is ABSENT else {"witness": verdict.witness}
    return {
        "impact": verdict.impact.name,
        "confidence": verdict.confidence.value,
        "reason": verdict.reason,
        **witness,
    }


_WORKER = _Worker()


def ask(old: str, new: str, direction: Direction, seconds: float = SECONDS) -> Verdict:
    """The verdict on two schemas in canonical form; unproven when it takes longer than `seconds` or cannot be had."""
    return _WORKER.ask(old, new, direction, seconds)


def stop() -> None:
    """Ends the worker now instead of with this process."""
    _WORKER.stop()


def _serve(asked: IO[str], answers: IO[str]) -> None:
    """The worker's side: one answer a line, until there is nobody to ask."""
    for line in asked:
        question = json.loads(line)
        answer = _written(decided(question[0], question[1], Direction(question[2]))) if question else None
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:
        return  # a system without such limits
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))


if __name__ == "__main__":
    _limit_memory()
    _serve(sys.stdin, sys.stdout)
