"""The options of the commands that read client configs, and of those that contact what is configured."""

from __future__ import annotations

import os
import shlex
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_lock.errors import UsageError
from mcp_lock.options.common import complain
from mcp_lock.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcp_lock.config import Found
    from mcp_lock.options.common import Common
    from mcp_lock.run import Project
    from mcp_lock.settings import Settings
    from mcp_lock.trust import Trusted

TIMEOUT = 60
"""Seconds for each server, unless the command line, the environment or the project says otherwise."""


@dataclass(frozen=True, slots=True)
class Configured:
    """Options of the commands that read client configs."""

    config: tuple[str, ...]
    client: str | None
    scope: str
    include_disabled: bool
    run_changed: bool
    env: tuple[str, ...]
    env_file: tuple[Path, ...]
    header: tuple[str, ...]

    def flags(self, common: Common) -> str:
        """What the command line says of project and configs, for commands that are to be copied."""
        given = [
            *common.given,
            *(word for file in self.config if file != "-" for word in ("-c", file)),
            *(("--client", self.client) if self.client else ()),
            *(("--scope", self.scope) if self.scope != "project" else ()),
        ]
        return shlex.join(map(visible, given))

    def headers(self) -> dict[str, str]:
        """What `--header` supplies. Raises `UsageError`."""
        if not self.header:
            return {}
        from mcp_lock.config import given

        return given.headers(self.header)

    def lock_path(self, common: Common) -> Path:
        """Where the lock is, or would be: that of the user's own servers is no project's. Raises `UsageError`."""
        if common.lockfile or self.scope == "project":
            return common.lock_path
        from mcp_lock.config import user

        return user.lock_path(os.environ, sys.platform)

    def root(self, common: Common) -> Path:
        """The directory that paths in the lock are relative to. Raises `UsageError`."""
        if self.scope == "project":
            return common.root
        from mcp_lock.config import user

        return user.home(os.environ, sys.platform)

    def settings(self, common: Common) -> Settings:
        """The project's settings; the user's own servers have none. Raises `ConfigError`."""
        from mcp_lock import settings

        return settings.read(common.root) if self.scope == "project" else settings.Settings()

    def found(self, common: Common, settings: Settings) -> Found:
        """The configured servers. Raises `ConfigError` and `UsageError`."""
        from mcp_lock import config
        from mcp_lock.config import given

        root = self.root(common)
        env = given.variables(self.env, self.env_file, os.environ)
        headers = given.headers(self.header)
        document = settings.document
        extra = config.Extra(document, settings.servers, settings.shown) if document and settings.servers else None
        if paths := self._paths(common, settings):
            return config.read(
                paths,
                root,
                environ=os.environ,
                include_disabled=self.include_disabled,
                env=env,
                headers=headers,
                excluded=settings.excluded,
                extra=extra,
                unpinned=settings.unpinned,
            )
        return config.find(
            root,
            environ=os.environ,
            client=self.client,
            include_disabled=self.include_disabled,
            env=env,
            headers=headers,
            scope=self.scope,
            excluded=settings.excluded,
            extra=extra,
            unpinned=settings.unpinned,
        )

    def _paths(self, common: Common, settings: Settings) -> list[str | Path]:
        """The files to read instead of looking for some: the command line's, else the project's."""
        if self.config or self.client:
            return [path if path == "-" else common.directory / path for path in self.config]
        above = common.root.joinpath(*[".."] * settings.above)
        return [above / path for path in settings.config]


@dataclass(frozen=True, slots=True)
class Connecting(Configured):
    """Options of the commands that contact any number of servers."""

    timeout: float | None
    retries: int
    jobs: int
    runs: int
    no_progress: bool

    @contextmanager
    def project(self, common: Common, trust_rev: str | None = None) -> Iterator[Project]:
        """What a run works on; says on stderr what is waited for until it is left.

        With `trust_rev` the settings are those of that revision. Raises as `trust.read` and `found`.
        """
        from mcp_lock.connect import Limits
        from mcp_lock.progress import waiting
        from mcp_lock.run import Project, Talk

        if trust_rev and self.run_changed:
            raise UsageError("--run-changed starts what nobody has reviewed, and --trust-rev nothing else: choose one")
        if trust_rev and self.scope == "user":
            raise UsageError("--trust-rev is for what is in a repository, which the user's own files are not")
        trusted = _trusted(common, trust_rev)
        settings = trusted.settings if trusted else self.settings(common)
        found = self.found(common, settings)
        silent = self.no_progress or common.quiet or bool(os.environ.get("CI")) or not sys.stderr.isatty()
        with waiting(None if silent else sys.stderr) as progress:
            talk = Talk(starting=lambda line: complain(f"starting {line}"), progress=progress)
            limits = Limits(self.timeout or settings.timeout or TIMEOUT, self.retries, self.jobs)
            path, is_own = self.lock_path(common), self.scope == "user" and not common.lockfile
            yield Project(found, path, limits, talk, self.run_changed, self.runs, settings, trusted, is_own)


def _trusted(common: Common, revision: str | None) -> Trusted | None:
    if revision is None:
        return None
    from mcp_lock import trust

    return trust.read(revision, common.lock_path, common.root)
