"""The report as JUnit's XML: a suite a server, a case a tool, and first in every suite a case for the server itself.

Drift that fails the run is a `failure`, what could not be checked an `error`, a server left out `skipped`; what drifted
without failing the run passes, and says so. The text is ASCII, so that it is XML in any encoding.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from mcp_lock.outcome import Item, Status
from mcp_lock.report import told
from mcp_lock.report.findings import of_run, of_server
from mcp_lock.text import clip, harmless, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_lock.outcome import Report, ServerReport
    from mcp_lock.report import Options
    from mcp_lock.report.findings import Finding

_MOST = 40
"""Findings of which all is said in one case."""
_COUNTED = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def render(report: Report, options: Options) -> str:
    """The whole document."""
    suites = [_suite(server.name, _cases(server, options)) for server in report.servers]
    if run := list(of_run(report, options)):
        suites.append(_suite("mcplock", [_case("mcplock", Item(None), run)]))
    total: Counter[str] = sum((counts for counts, _ in suites), Counter())
    said = "".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>\n',
            f'<testsuites name="mcplock"{_attributes(total, but="skipped")}>\n',
            *(text for _, text in suites),
            "</testsuites>\n",
        ]
    )
    return said.encode("ascii", "xmlcharrefreplace").decode()


_Case = tuple[str, str]
"""What became of a case (empty for a pass), and its element."""


def _cases(server: ServerReport, options: Options) -> list[_Case]:
    if server.status is Status.SKIPPED and not server.is_invalid:
        return [_element(server.name, Item(None), "skipped", f"<skipped message={_quoted(server.error)}/>")]
    found: dict[Item, list[Finding]] = {item: [] for item in (Item(None), *server.same)}
    for one in of_server(server, options):
        found.setdefault(one.item, []).append(one)
    return [_case(server.name, item, own) for item, own in found.items()]


def _case(server: str, item: Item, found: Sequence[Finding]) -> _Case:
    failing = [one for one in found if one.fails]
    if not failing:
        body = "".join(f"<system-out>{_body(found)}</system-out>" if found else "")
        return _element(server, item, "", body)
    kind = "error" if any(one.is_unread for one in failing) else "failure"
    worst = max(failing, key=lambda one: (one.is_unread, one.impact))
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    said = f"type={_quoted(worst.rule.id)} message={_quoted(worst.head + more)}"
    return _element(server, item, kind, f"<{kind} {said}>{_body(found)}</{kind}>")


def _element(server: str, item: Item, kind: str, body: str) -> _Case:
    name = told.said_item(item) if item.kind else "(server)"
    named = f"classname={_quoted(told.named(server))} name={_quoted(name)}"
    return kind, f"    <testcase {named}>{body}</testcase>\n" if body else f"    <testcase {named}/>\n"


def _suite(name: str, cases: Sequence[_Case]) -> tuple[Counter[str], str]:
    counts = Counter({"tests": len(cases)}) + Counter(kind for kind, _ in cases if kind)
    head = f"  <testsuite name={_quoted(told.named(name))}{_attributes(counts)}>\n"
    return counts, head + "".join(element for _, element in cases) + "  </testsuite>\n"


def _attributes(counts: Counter[str], but: str = "") -> str:
    """The sums of a suite; JUnit's schema wants no sum of what was skipped over all suites."""
    sums = {"tests": counts["tests"], **{name: counts[kind] for name, kind in _COUNTED.items() if name != but}}
    return "".join(f' {name}="{number}"' for name, number in sums.items())


def _body(found: Sequence[Finding]) -> str:
    return "\n".join(_paragraphs(found))


def _paragraphs(found: Sequence[Finding]) -> Iterator[str]:
    for one in found[:_MOST]:
        yield escape("\n  ".join(one.lines)) + "\n"
    if len(found) > _MOST:
        yield f"{len(found) - _MOST} more"


def _quoted(text: str) -> str:
    """An attribute's value on one line; what XML cannot hold is invisible, and so spelt out."""
    return quoteattr(harmless(clip(visible(text), 600)))
