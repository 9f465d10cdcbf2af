"""A `Report` as one JSON object: every fact of it, nothing cut and nothing made visible.

The text is ASCII: what a terminal could obey is spelt as JSON escapes, and a reader gets back what the server wrote.
`schema` describes the object, so that other programs can rely on it; within one `format` members are only ever added.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcp_lock.contract import Kind
from mcp_lock.outcome import ABSENT, Confidence, Impact, Status

if TYPE_CHECKING:
    from mcp_lock.outcome import Change, Item, Notice, Report, ServerReport
    from mcp_lock.report import Options

FORMAT = 1


def render(report: Report, _: Options) -> str:
    """The whole report, indented by two."""
    text = json.dumps(document(report), indent=2, default=_plain)
    return text.replace("##", "\\u0023#") + "\n"  # build servers obey `##[` and `##vso[` anywhere in a line


def _plain(value: Any) -> Any:
    """What `json` cannot spell by itself: mappings and sequences of other types."""
    return dict(value) if hasattr(value, "keys") else list(value)


def document(report: Report) -> dict[str, Any]:
    """The report as JSON values."""
    return {
        "format": FORMAT,
        "worst": report.worst.word,
        "servers": [_server(server) for server in report.servers],
        "notes": list(report.notes),
    }


def _server(server: ServerReport) -> dict[str, Any]:
    return {
        "name": server.name,
        "status": server.status.value,
        "error": server.error,
        "worst": server.worst.word,
        "unchanged": server.unchanged,
        "changes": [_change(change) for change in server.changes],
        "notices": [_notice(notice) for notice in server.notices],
        "digests": dict(server.digests or {}),
    }


def _change(change: Change) -> dict[str, Any]:
    sides = {"old": change.old, "new": change.new, "witness": change.witness}
    return {
        "rule": change.rule.id,
        "impact": change.impact.word,
        "confidence": change.confidence.value,
        "item": _item(change.item),
        "pointer": change.pointer,
        "part": change.part,
        "also": list(change.also),
        "name": change.name,
        "to": change.to,
        "summary": change.summary,
        "why": change.why,
        "hits": [letter for letter in change.hits if letter.strip()],
        "fingerprint": change.fingerprint,
        "ignored": change.ignored,
        **{side: value for side, value in sides.items() if value is not ABSENT},
    }


def _item(item: Item | None) -> dict[str, Any] | None:
    return {"kind": item.kind.value if item.kind else "server", "name": item.name} if item else None


def _notice(notice: Notice) -> dict[str, Any]:
    return {"text": notice.text, "item": _item(notice.item), "pointer": notice.pointer}


def _object(said: str, **members: Any) -> dict[str, Any]:
    optional = ("old", "new", "witness")
    return {
        "type": "object",
        "description": said,
        "properties": members,
        "required": [name for name in members if name not in optional],
    }


def _text(said: str, *values: str) -> dict[str, Any]:
    return {"type": "string", "description": said, **({"enum": list(values)} if values else {})}


def _list(items: dict[str, Any], said: str = "") -> dict[str, Any]:
    return {"type": "array", "items": items, **({"description": said} if said else {})}


_IMPACT = _text("What it does to whoever relies on the contract.", *(impact.word for impact in Impact))
_ITEM = {
    **_object(
        "What it is about.",
        kind=_text("What kind of thing.", *(kind.value for kind in Kind), "server"),
        name=_text("Its name or URI, as the server wrote it; empty for the server itself."),
    ),
    "type": ["object", "null"],
}
_CHANGE = _object(
    "One difference, under one rule.",
    rule=_text("The rule's id."),
    impact=_IMPACT,
    confidence=_text("How the impact is known.", *(confidence.value for confidence in Confidence)),
    item=_ITEM,
    pointer=_text("JSON Pointer of the raw difference, from the definition."),
    part=_text("JSON Pointer below `pointer`, where one raw difference is several changes."),
    also=_list({"type": "string"}, "Pointers of further raw differences that this change is."),
    name=_text("The parameter, field or member."),
    to=_text("Its new name, where it was renamed."),
    summary=_text("What changed."),
    why=_text("What that does to whom; empty where nothing more can be said."),
    hits=_list(
        _text("", "C", "R", "O", "H"), "C cached callers, R agents that read, O consumers of results, H people."
    ),
    fingerprint=_text("SHA-256 over server, item, rule and place: names this change across runs."),
    ignored=_text("Why the project's settings ignore it, or that they no longer do; empty where they say nothing."),
    old={"description": "The old value; absent where there was none."},
    new={"description": "The new value; absent where there is none."},
    witness={"description": "A call, or a result, that proves the impact."},
)
_SERVER = _object(
    "One server.",
    name=_text("As it is configured."),
    status=_text("What became of it.", *(status.value for status in Status)),
    error=_text("Why it could not be checked, or how its launch spec differs; may be empty."),
    worst=_IMPACT,
    unchanged={"type": "integer", "description": "How many items are as pinned."},
    changes=_list(_CHANGE, "Worst first, immaterial ones included."),
    notices=_list(_object("A fact about one side alone.", text=_text(""), item=_ITEM, pointer=_text(""))),
    digests={
        "type": "object",
        "description": "The live digest of every changed item, by KIND/NAME.",
        "additionalProperties": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"},
    },
)


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of what `render` writes."""
    members = {
        "format": {"const": FORMAT},
        "worst": _IMPACT,
        "servers": _list(_SERVER),
        "notes": _list({"type": "string"}),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "mcplock report",
        **_object("What one run found.", **members),
    }
