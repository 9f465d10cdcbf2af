"""The system's keyring, through `keyring` where that is installed. Its backends are foreign and may raise anything.

`keyring` is loaded only by whoever logs in, and for a login that is known to be in a keyring: one may ask for a
password, or never answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_lock.text import one_line

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

_SERVICE = "mcplock"


class RingError(Exception):
    """The keyring cannot be used; `str()` says why, in visible words."""


def put(resource: str, text: str) -> str:
    """Keep `text`; returns what this keyring is called. Raises `RingError`."""
    ring = _ring()
    try:
        ring.set_password(_SERVICE, resource, text)
        kept = ring.get_password(_SERVICE, resource)
    except Exception as error:  # noqa: BLE001 - whatever a backend raises means that it kept nothing
        raise RingError(_failed(error)) from None
    if kept != text:
        raise RingError("the keyring did not keep it")
    return one_line(str(ring.name), 60)


def get(resource: str) -> str | None:
    """What is kept, if anything. Raises `RingError`."""
    ring = _ring()
    try:
        return ring.get_password(_SERVICE, resource)
    except Exception as error:  # noqa: BLE001 - as above
        raise RingError(_failed(error)) from None


def remove(resource: str) -> None:
    """Keep it no longer; fine if it was not there. Raises `RingError`."""
    if get(resource) is None:
        return
    try:
        _ring().delete_password(_SERVICE, resource)
    except Exception as error:  # noqa: BLE001 - as above
        raise RingError(_failed(error)) from None


def _failed(error: Exception) -> str:
    return f"the keyring failed: {one_line(str(error), 120) or type(error).__name__}"


def _ring() -> KeyringBackend:
    try:
        import keyring
    except ImportError:
        raise RingError("the package keyring is not installed") from None
    try:
        ring = keyring.get_keyring()
        usable = ring.priority > 0  # the backends that keep nothing have none
    except Exception as error:  # noqa: BLE001 - as above
        raise RingError(_failed(error)) from None
    if not usable:
        raise RingError("no keyring on this machine")
    return ring
