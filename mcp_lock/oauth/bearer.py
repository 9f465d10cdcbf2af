"""The token that one server is shown: read from the store, renewed before it ends or when it was refused.

Nobody is asked anything, and nothing is raised: where there is no token, the server's 401 and `trouble` say the rest.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

import anyio

from mcp_lock.errors import ConnectError, McpLockError
from mcp_lock.oauth import has_its_own, is_private, resource_of
from mcp_lock.oauth.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_lock.config import HttpServer
    from mcp_lock.oauth import Login

T = TypeVar("T")

_MARGIN = 60.0
"""Seconds before its end in which a token is renewed."""
_PAUSE = 30.0
"""Seconds between two tries to renew the same login."""
_PATIENCE = 20.0
"""Seconds that one process waits for another to be done with renewing the same login, and then for the keyring."""


class Bearer:
    """`mcp_lock.transport.Credentials` from the login for the URL of `server`, if there is one."""

    def __init__(self, server: HttpServer, say: Callable[[str], None], learn: Callable[[str], None]) -> None:
        """`say` gets what a person should know, one line each; `learn` every secret before it is used."""
        self._resource = resource_of(server.url) if is_private(server.url) and not has_its_own(server) else ""
        self._store = Store(os.environ, say)
        self._say, self._learn = say, learn
        self._name = server.shown_name
        self._login: Login | None = None
        self._fresh = ""
        """The token that renewing gave; not renewed again before its very end, however short it lives."""
        self._not_before = 0.0
        self.trouble = ""
        """Why the login did not help, in visible words; empty where there is none."""

    async def token(self) -> str:
        """The token to send; empty without a login."""
        if not self._resource:
            return ""
        if self._login is None:
            await self._load()
        login = self._login
        if login and login.can_be_renewed and login.ends_within(self._margin(login)) and self._may_try:
            await self._renew(login.access_token)
        return self._login.access_token if self._login else ""

    def _margin(self, login: Login) -> float:
        return 0.0 if login.access_token == self._fresh else _MARGIN

    @property
    def _may_try(self) -> bool:
        return anyio.current_time() >= self._not_before

    async def renewed(self, refused: str) -> str:
        """Another token than the one that was refused, or than none; empty if there is no other."""
        if not self._resource:
            return ""
        await self._renew(refused)
        token = self._login.access_token if self._login else ""
        return "" if token == refused else token

    async def _load(self) -> None:
        if self._store.place(self._resource) is None:
            self._login = None
            return
        try:
            self._adopt(await _in_thread(lambda: self._store.read(self._resource)))
        except ConnectError as error:
            self.trouble = self._again(str(error))

    def _again(self, why: str) -> str:
        by_machine = self._login is not None and self._login.grant == "client_credentials"
        return f"{why}; log in again: mcplock login {self._name}{' --client-credentials' if by_machine else ''}"

    def _adopt(self, login: Login | None) -> None:
        if login != self._login or not login:
            self.trouble = "" if login else self._again("the login is not where it was kept")
        self._login = login
        for secret in login.secrets() if login else ():
            self._learn(secret)

    async def _renew(self, old: str) -> None:
        """Adopt what another process has stored in the meantime, or else the next token."""
        if self._store.place(self._resource) is None:
            self._login = None
            return
        with self._store.alone(self._resource) as is_ours:
            end = anyio.current_time() + _PATIENCE
            while not is_ours() and anyio.current_time() < end:
                await anyio.sleep(0.02)
            await self._load()
            if self._login and self._login.access_token == old and self._may_try:
                with anyio.CancelScope(shield=True):  # the old token is gone once the new one is sent
                    await self._next(self._login)

    async def _next(self, login: Login) -> None:
        from mcp_lock.oauth import tokens

        try:
            fresh = await tokens.renew(login)
        except ConnectError as error:
            await self._load()  # whoever could not be kept from renewing it has the next token
            if self._login is None or self._login.access_token == login.access_token:
                self.trouble = self._again(str(error)) if isinstance(error, tokens.Revoked) else str(error)
            return
        finally:
            self._not_before = anyio.current_time() + _PAUSE
        self._adopt(fresh)
        self._fresh = fresh.access_token
        await self._keep(fresh)

    async def _keep(self, fresh: Login) -> None:
        if self._store.place(self._resource) is None:
            return  # somebody has logged out in the meantime
        try:
            with anyio.fail_after(_PATIENCE):
                await _in_thread(lambda: self._store.write(fresh, anew=False))
        except TimeoutError:
            self._say("the login was renewed, but the keyring does not answer, so that the next run may have none")
        except McpLockError as error:
            self._say(f"the login was renewed, but {error}")


async def _in_thread(work: Callable[[], T]) -> T:
    """What `work` returns. It runs in a thread that nobody waits for: a keyring may never answer."""
    from asyncio import get_running_loop

    loop, done = get_running_loop(), anyio.Event()
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again by whoever waits
            errors.append(error)
        with suppress(RuntimeError):  # the loop is gone
            loop.call_soon_threadsafe(done.set)

    threading.Thread(target=run, daemon=True).start()
    await done.wait()
    if errors:
        raise errors[0]
    return results[0]
