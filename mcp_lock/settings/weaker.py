"""Two settings of one project, and in what the second one checks less. What to do about it is not known here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_lock.outcome import Impact
from mcp_lock.rules import RULES
from mcp_lock.settings import LAUNCH_UNPINNED, UNPINNED, Settings
from mcp_lock.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcp_lock.policy import Ignore


def weakened(trusted: Settings, tree: Settings) -> list[str]:
    """In what the settings of `tree` check less than the `trusted` ones, or other servers: a readable line each."""
    return [line for weaker in _WEAKER for line in weaker(trusted, tree)]


def _weaker_fail_on(trusted: Settings, tree: Settings) -> Iterator[str]:
    least, now = (one.fail_on or Impact.COSMETIC for one in (trusted, tree))
    if now > least:
        yield f"fail-on {least.word} → {now.word}"


def _weaker_rules(trusted: Settings, tree: Settings) -> Iterator[str]:
    for rule in sorted({*trusted.policy.impacts, *tree.policy.impacts}):
        ordinary = max(RULES[rule].input, RULES[rule].output)
        least, now = (one.policy.impacts.get(rule, ordinary) for one in (trusted, tree))
        if now < least:
            yield f"rule {rule} {least.word} → {now.word}"


def _weaker_ignores(trusted: Settings, tree: Settings) -> Iterator[str]:
    def said(known: Ignore) -> tuple[object, ...]:
        pattern = known.pattern.pattern if known.pattern else ""
        return known.server, known.item, known.rule, known.pointer, pattern, known.until

    before = {said(known) for known in trusted.policy.ignores}
    for known in tree.policy.ignores:
        if said(known) not in before:
            yield f"a known difference more: {known}"


def _weaker_servers(trusted: Settings, tree: Settings) -> Iterator[str]:
    if left_out := sorted(tree.excluded.keys() - trusted.excluded.keys()):
        yield f"exclude-servers has {', '.join(map(visible, left_out))} more"
    if tree.config != trusted.config:
        yield f"config {_listed(trusted.config)} → {_listed(tree.config)}"
    if _table(trusted) != _table(tree):
        yield "the servers are others"
    if trusted.resources and not tree.resources:
        yield "resources true → false"
    if UNPINNED.index(tree.unpinned) > UNPINNED.index(trusted.unpinned):
        yield f"{LAUNCH_UNPINNED} {trusted.unpinned} → {tree.unpinned}"


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(map(visible, names)) or "(looked for)"


def _table(settings: Settings) -> Any:
    value = settings.document.value if settings.document and settings.servers else {}
    for key in settings.servers:
        value = value[key]
    return value


_WEAKER: tuple[Callable[[Settings, Settings], Iterator[str]], ...] = (
    _weaker_fail_on,
    _weaker_rules,
    _weaker_ignores,
    _weaker_servers,
)
