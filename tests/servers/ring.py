"""Keyrings for `keyring` itself, chosen through PYTHON_KEYRING_BACKEND: each keeps its secrets in the file $RING."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any, NoReturn

from keyring.backend import KeyringBackend


class FileRing(KeyringBackend):
    """Works."""

    priority = 5.0
    name = "ring of the tests"

    def _all(self) -> dict[str, str]:
        path = Path(os.environ["RING"])
        return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}

    def _save(self, values: dict[str, str]) -> None:
        Path(os.environ["RING"]).write_text(json.dumps(values), encoding="utf-8")

    def get_password(self, service: str, username: str) -> str | None:
        return self._all().get(f"{service} {username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        self._save({**self._all(), f"{service} {username}": password})

    def delete_password(self, service: str, username: str) -> None:
        values = self._all()
        del values[f"{service} {username}"]
        self._save(values)


class Locked(FileRing):
    """Says no to everything, as one does whose password nobody gave."""

    name = "locked ring"

    def get_password(self, *_: Any) -> NoReturn:
        raise OSError("the ring is locked")

    set_password = get_password


class Forgetful(FileRing):
    """Takes everything and keeps nothing."""

    name = "forgetful ring"

    def set_password(self, *_: Any) -> None:
        pass


class Silent(FileRing):
    """Never answers a question, as one does that waits for a person."""

    name = "silent ring"

    def get_password(self, *_: Any) -> None:
        threading.Event().wait(60)
