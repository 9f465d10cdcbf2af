"""Published servers, locked and verified: does mcplock ever cry wolf?

    .venv/bin/python scripts/real_servers.py [CACHE] [--only WORD]

Installs each server of the table below into CACHE (else a directory of the user's cache), where it stays for the next
run; needs Node.js with npm, and both package indexes. Each is locked in a project of its own, and verified twice, every
time from fresh processes. Prints a line for each: name, version, transport, negotiated protocol, number of contracts,
seconds for a verify, and `no false alarm` or what went wrong. Exits with 1 when one drifted or failed. `--only` takes
the servers whose name has WORD in it.

Whatever listens does so on loopback, and is ended by its own id.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from mcp_lock import lockfile
from mcp_lock.contract import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ROOT = Path(__file__).resolve().parent.parent
BUILT = ROOT / "tests" / "servers" / "built.py"

INSTALLATION = 300
RUN = 120
START = 30
END = 5
"""Seconds that each may take at most; a server gets the last one once more before it is killed."""


@dataclass(frozen=True, slots=True)
class Package:
    """What is installed, in a directory of its own."""

    name: str
    version: str
    index: str = "pypi"
    """Or `npm`."""
    beside: tuple[str, ...] = ()
    """Requirements that must be met with it."""

    def home(self, cache: Path) -> Path:
        """Where it is, or will be."""
        return cache / f"{self.index}-{self.name.replace('/', '-').lstrip('@')}-{self.version}"

    def programs(self, cache: Path) -> Path:
        """The directory of its commands."""
        return self.home(cache) / ("node_modules/.bin" if self.index == "npm" else "bin")

    def install(self, cache: Path) -> None:
        """Install it unless that was done. Raises CalledProcessError and TimeoutExpired."""
        home = self.home(cache)
        done = home / "installed"
        if done.exists():
            return
        home.mkdir(parents=True, exist_ok=True)
        for command in self._commands(home):
            subprocess.run(command, check=True, timeout=INSTALLATION, capture_output=True, text=True)
        done.touch()

    def _commands(self, home: Path) -> list[list[str]]:
        if self.index == "npm":
            return [["npm", "install", "--no-audit", "--no-fund", "--prefix", str(home), f"{self.name}@{self.version}"]]
        requirements = [f"{self.name}=={self.version}", *self.beside]
        install = [f"{home}/bin/pip", "install", "--quiet", "--disable-pip-version-check", *requirements]
        return [[sys.executable, "-m", "venv", str(home)], install]


@dataclass(frozen=True, slots=True)
class Case:
    """One server over one transport. `{bin}`, `{cache}`, `{project}` and `{port}` in a word stand for their values."""

    package: Package
    argv: tuple[str, ...]
    transport: str = "stdio"
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_remote(self) -> bool:
        """Whether it listens, so that it is started here and not by mcplock."""
        return self.transport != "stdio"


_NPM = "@modelcontextprotocol/server-"
EVERYTHING = Package(f"{_NPM}everything", "2026.8.31", "npm")
FILESYSTEM = Package(f"{_NPM}filesystem", "2026.8.31", "npm")
MEMORY = Package(f"{_NPM}memory", "2026.8.31", "npm")
TIME = Package("mcp-server-time", "2026.10.19")
GIT = Package("mcp-server-git", "2026.10.19")
FETCH = Package("mcp-server-fetch", "2026.10.24")
SDKS = (
    Package("mcp", "1.12.4", beside=("pydantic==2.11.7",)),  # its schemas are empty with a newer pydantic
    Package("mcp", "1.26.0"),
    Package("mcp", "2.3.0"),
)

_LOOPBACK = ("node", "--require", "{cache}/loopback.cjs", "{bin}/mcp-server-everything")
CASES = (
    Case(EVERYTHING, ("{bin}/mcp-server-everything", "stdio")),
    Case(EVERYTHING, (*_LOOPBACK, "streamableHttp"), "http", {"PORT": "{port}"}),
    Case(EVERYTHING, (*_LOOPBACK, "sse"), "sse", {"PORT": "{port}"}),
    Case(FILESYSTEM, ("{bin}/mcp-server-filesystem", "{project}")),
    Case(MEMORY, ("{bin}/mcp-server-memory",), env={"MEMORY_FILE_PATH": "{project}/memory.json"}),
    Case(TIME, ("{bin}/mcp-server-time", "--local-timezone", "UTC")),
    Case(GIT, ("{bin}/mcp-server-git",)),
    Case(FETCH, ("{bin}/mcp-server-fetch",)),
    *(Case(sdk, ("{bin}/python", str(BUILT))) for sdk in SDKS),
    *(Case(sdk, ("{bin}/python", str(BUILT), "{port}"), "http") for sdk in SDKS),
)

PRELOAD = """\
// Some servers listen on every interface and have no setting for it: loopback is all that a check needs.
"use strict";
const { Server } = require("node:net");
const { listen } = Server.prototype;
Server.prototype.listen = function (first, ...rest) {
  if (first !== null && typeof first === "object" && "port" in first) {
    return listen.call(this, { ...first, host: "127.0.0.1" }, ...rest);
  }
  const isPort = typeof first === "number" || /^[0-9]+$/.test(first);
  return isPort ? listen.call(this, first, "127.0.0.1", ...rest.filter((one) => typeof one !== "string"))
                : listen.call(this, first, ...rest);
};
"""


class Failed(Exception):
    """A case went wrong; the text is for whoever looks at it."""


@dataclass(frozen=True, slots=True)
class Workshop:
    """A case with everything that it needs: a project, and a port if it listens."""

    case: Case
    cache: Path
    project: Path
    port: int

    @property
    def argv(self) -> list[str]:
        """How the server is started."""
        return [self._filled(word) for word in self.case.argv]

    @property
    def env(self) -> dict[str, str]:
        """The variables that it gets besides."""
        return {name: self._filled(value) for name, value in self.case.env.items()}

    @property
    def entry(self) -> dict[str, object]:
        """It in a client config."""
        if self.case.is_remote:
            path = {"http": "mcp", "sse": "sse"}[self.case.transport]
            return {"type": self.case.transport, "url": f"http://127.0.0.1:{self.port}/{path}"}
        command, *args = self.argv
        return {"command": command, "args": args, "env": self.env}

    def mcplock(self, *args: str) -> float:
        """Run a command with a fresh server; the seconds that it took. Raises `Failed` unless it exits with 0."""
        with listening(self) if self.case.is_remote else _nothing():
            began = time.perf_counter()
            command = [sys.executable, "-m", "mcp_lock", *args, "--no-progress"]
            done = subprocess.run(command, cwd=self.project, capture_output=True, text=True, timeout=RUN, check=False)
            took = time.perf_counter() - began
        if done.returncode:
            raise Failed(f"mcplock {args[0]} exits with {done.returncode}\n{done.stdout}{done.stderr}")
        return took

    def _filled(self, word: str) -> str:
        programs = str(self.case.package.programs(self.cache))
        return word.format(bin=programs, cache=self.cache, project=self.project, port=self.port)


@contextmanager
def _nothing() -> Iterator[None]:
    yield


@contextmanager
def listening(shop: Workshop) -> Iterator[None]:
    """The server runs, and takes connections. Raises `Failed` when it does not come up."""
    log = shop.project / "server.log"
    with log.open("wb") as output:
        server = subprocess.Popen(
            shop.argv, cwd=shop.project, env={**os.environ, **shop.env}, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        if not _takes_connections(server, shop.port):
            raise Failed(f"the server does not listen\n{log.read_text(encoding='utf-8', errors='replace')[-2000:]}")
        yield
    finally:
        end(server)


def _takes_connections(server: subprocess.Popen[bytes], port: int) -> bool:
    until = time.monotonic() + START
    while time.monotonic() < until and server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return True
    return False


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process that was started here."""
    process.terminate()
    try:
        process.wait(END)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(END)


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def tried(case: Case, cache: Path) -> str:
    """A case, in words. Raises `Failed` when mcplock cried wolf, or anything else went wrong."""
    case.package.install(cache)
    with TemporaryDirectory(prefix="mcplock-") as directory:
        shop = Workshop(case, cache, Path(directory), free_port() if case.is_remote else 0)
        (shop.project / ".mcp.json").write_text(json.dumps({"mcpServers": {"real": shop.entry}}), encoding="utf-8")
        shop.mcplock("lock")
        seconds = min(shop.mcplock("verify") for _ in range(2))
        surface = lockfile.read(shop.project / "mcp.lock").servers["real"].surface
    contracts = sum(len(surface.contracts(kind)) for kind in Kind)
    if not contracts:
        raise Failed("locked without a single contract")
    return f"{surface.protocol:<10}  {contracts:>9}  {seconds:>6.2f} s  no false alarm"


def _line(case: Case, cache: Path) -> tuple[str, bool]:
    """What became of a case, and whether it is well."""
    try:
        return tried(case, cache), True
    except Failed as failed:
        return f"FAILED: {failed}", False
    except subprocess.SubprocessError as error:
        return f"FAILED: {error}\n{getattr(error, 'stderr', '') or ''}", False


def run(cases: Sequence[Case], cache: Path) -> int:
    """Prints a line for each case; the exit code."""
    cache.mkdir(parents=True, exist_ok=True)
    (cache / "loopback.cjs").write_text(PRELOAD, encoding="utf-8")
    width = max(len(case.package.name) for case in cases)
    print(f"{'name':<{width}}  version     over   protocol    contracts    verify  result")
    failures = 0
    for case in cases:
        package = case.package
        print(f"{package.name:<{width}}  {package.version:<10}  {case.transport:<5}", end="  ", flush=True)
        line, is_well = _line(case, cache)
        failures += not is_well
        print(line, flush=True)
    print(f"{len(cases)} servers, {failures} failed")
    return int(failures > 0)


def main() -> int:
    """Read the command line and run."""
    usual = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mcplock" / "real-servers"
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("cache", nargs="?", type=Path, default=usual)
    parser.add_argument("--only", default="", metavar="WORD")
    chosen = parser.parse_args()
    cases = [case for case in CASES if chosen.only in case.package.name]
    if not cases:
        parser.error(f"no server is called like {chosen.only!r}")
    return run(cases, chosen.cache.resolve())


if __name__ == "__main__":
    sys.exit(main())
