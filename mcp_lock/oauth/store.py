"""Where logins are kept: the token in the system's keyring, or else in a file that its owner alone can read.

Beside it lies the index, a small file for each login without any secret, which says where the token is. So nothing asks
a keyring about a server that nobody has logged into. Loads nothing but the standard library until there is a login.
"""

from __future__ import annotations

import json
import os
import stat
import sys
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_lock import state
from mcp_lock.errors import ConnectError, UsageError
from mcp_lock.oauth import login_in, ring
from mcp_lock.text import one_line, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mcp_lock.oauth import Login


@dataclass(frozen=True, slots=True)
class Place:
    """Where the token of a login is."""

    kept: str
    """`keyring` or `file`."""
    words: str
    """For a person: `in the keyring (…)`, or which file."""


class Store:
    """The logins of the person who runs mcplock."""

    def __init__(self, environ: Mapping[str, str], say: Callable[[str], None]) -> None:
        """`say` is told, in one visible line, what a person should know of how a login is kept."""
        self._environ = environ
        self._say = say

    @property
    def directory(self) -> Path:
        """Where index and files are."""
        return state.directory(self._environ) / "logins"

    def _path(self, resource: str, suffix: str) -> Path:
        return self.directory / (sha256(resource.encode()).hexdigest()[:32] + suffix)

    def place(self, resource: str) -> Place | None:
        """Where the login for `resource` is; None when there is none. Asks no keyring."""
        try:
            entry = json.loads(self._path(resource, ".json").read_text(encoding="utf-8"))
            if entry["resource"] == resource and entry["kept"] in ("keyring", "file"):
                return Place(entry["kept"], one_line(str(entry["where"])))
        except (OSError, ValueError, KeyError, TypeError, RuntimeError):  # a RecursionError is one, too
            return None
        return None

    def read(self, resource: str) -> Login | None:
        """The login for `resource`; None when there is none any more. Raises `ConnectError` when it cannot be read."""
        place = self.place(resource)
        if place is None:
            return None
        try:
            text = ring.get(resource) if place.kept == "keyring" else self._file_text(resource)
            login = login_in(text) if text is not None else None
        except ring.RingError as error:
            raise ConnectError(f"the login cannot be read: {error}") from None
        except OSError as error:
            raise ConnectError(f"the login cannot be read: {one_line(error.strerror or str(error))}") from None
        except ValueError:
            raise ConnectError("the login is damaged") from None
        return login if login and login.resource == resource else None

    def _file_text(self, resource: str) -> str | None:
        path = self._path(resource, ".token")
        try:
            descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        except FileNotFoundError:
            return None
        with os.fdopen(descriptor, encoding="utf-8") as file:
            if sys.platform != "win32":
                self._check(os.fstat(descriptor), descriptor, path)
            return file.read()

    def _check(self, found: os.stat_result, descriptor: int, path: Path) -> None:
        """Closes a file that others can read. Raises `ConnectError` for one that others wrote."""
        if found.st_uid != os.getuid():
            raise ConnectError(f"the login is in a file of another user, which is not trusted: {visible(str(path))}")
        if stat.S_IMODE(found.st_mode) & 0o077:
            os.fchmod(descriptor, 0o600)
            self._say(
                f"others could read {_shown(path)}; its mode is 0600 now: if others use this machine, "
                "log out and in again"
            )

    def write(self, login: Login, *, anew: bool = True) -> Place:
        """Keep a login: in the keyring if there is one that works, else in a file. Raises `UsageError`.

        One that is not new stays in its file: a keyring that did not work then may keep everybody waiting now.
        """
        before = self.place(login.resource)
        place, why = Place("file", f"in {_shown(self._path(login.resource, '.token'))}"), ""
        if anew or not before or before.kept == "keyring":
            try:
                place = Place("keyring", f"in the keyring ({ring.put(login.resource, login.text())})")
            except ring.RingError as error:
                why = str(error)
        entry = json.dumps({"version": 1, "resource": login.resource, "kept": place.kept, "where": place.words})
        try:
            self._make_directory()
            if place.kept == "file":
                _replace(self._path(login.resource, ".token"), login.text())
            else:
                self._path(login.resource, ".token").unlink(missing_ok=True)
            _replace(self._path(login.resource, ".json"), entry)
        except (OSError, RuntimeError) as error:
            why = one_line(getattr(error, "strerror", "") or str(error))
            raise UsageError(f"the login cannot be kept in {_shown(self.directory)}: {why}") from None
        if before and before.kept == "keyring" and why:
            self._say(f"the login is {place.words} now: {why}")
        return Place(place.kept, f"{place.words}, mode 0600: {why}") if why else place

    def _make_directory(self) -> None:
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if sys.platform != "win32" and stat.S_IMODE(self.directory.stat().st_mode) & 0o077:
            self.directory.chmod(0o700)

    def remove(self, resource: str) -> None:
        """Forget a login. Raises `UsageError` when something of it stays."""
        place = self.place(resource)
        try:
            if place and place.kept == "keyring":
                ring.remove(resource)
            for suffix in (".token", ".json", ".lock"):
                self._path(resource, suffix).unlink(missing_ok=True)
        except ring.RingError as error:
            raise UsageError(f"the login cannot be removed: {error}") from None
        except (OSError, RuntimeError) as error:
            why = one_line(getattr(error, "strerror", "") or str(error))
            raise UsageError(f"the login cannot be removed from {_shown(self.directory)}: {why}") from None

    @contextmanager
    def alone(self, resource: str) -> Iterator[Callable[[], bool]]:
        """Keep other processes from renewing the same login, which could cost both of them theirs.

        Gives a function that tries, and says whether that succeeded. Where files cannot be locked nobody is kept out.
        """
        try:
            descriptor = os.open(self._path(resource, ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        except (OSError, RuntimeError):
            yield lambda: True
            return
        try:
            yield lambda: _locked(descriptor)
        finally:
            os.close(descriptor)


def _locked(descriptor: int) -> bool:
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _replace(path: Path, text: str) -> None:
    """Write a file whole or not at all, for its owner alone from its first byte on."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")  # with mode 0600
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(descriptor)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _shown(path: Path) -> str:
    with suppress(ValueError, RuntimeError):
        return visible(f"~/{path.relative_to(Path.home())}")
    return visible(str(path))
