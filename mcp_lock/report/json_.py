"""A `Report` as one JSON object: every fact of it, nothing cut and nothing made visible.

The text is ASCII: what a terminal could obey is spelt as JSON escapes, and a reader gets back what the server wrote.
`schema` describes the object, so that other programs can rely on it; within one `format` members are only ever added.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mcp_lock.contract import Kind
from mcp_lock.outcome import ABSENT, Confidence, Impact, Item, Status
from mcp_lock.report.findings import of_server

if TYPE_CHECKING:
    from mcp_lock.outcome import Change, Notice, Report, ServerReport
    from mcp_lock.report import Options, Place
    from mcp_lock.report.findings import Finding

FORMAT = 1


def render(report: Report, options: Options) -> str:
    """The whole report, indented by two."""
    return spelt(document(report, options))


def spelt(value: Any) -> str:
    """JSON as this project writes it: ASCII, indented, and no command to a build server."""
    text = json.dumps(value, indent=2, default=_plain)
    return text.replace("##", "\\u0023#") + "\n"  # build servers obey `##[` and `##vso[` anywhere in a line


def _plain(value: Any) -> Any:
    """What `json` cannot spell by itself: mappings and sequences of other types."""
    return dict(value) if hasattr(value, "keys") else list(value)


def document(report: Report, options: Options) -> dict[str, Any]:
    """The report as JSON values."""
    return {
        "format": FORMAT,
        "worst": report.worst.word,
        "checked": report.has_checked,
        "servers": [_server(server, options) for server in report.servers],
        "notes": list(report.notes),
    }


def _server(server: ServerReport, options: Options) -> dict[str, Any]:
    found = of_server(server, replace(options, verbose=True))
    return {
        "name": server.name,
        "status": server.status.value,
        "error": server.error,
        "worst": server.worst.word,
        "fails": any(one.fails for one in found),
        "location": _location(options.locate(server, Item(None))),
        "unchanged": server.unchanged,
        "same": [_item(item) for item in server.same],
        "changes": [_change(one.change) | _told(one) for one in found if one.change],
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


def _told(one: Finding) -> dict[str, Any]:
    return {"fails": one.fails, "location": _location(one.place)}


def _location(place: Place | None) -> dict[str, Any] | None:
    return place._asdict() if place else None


def _item(item: Item | None) -> dict[str, Any] | None:
    return {"kind": item.kind.value if item.kind else "server", "name": item.name} if item else None


def _notice(notice: Notice) -> dict[str, Any]:
    return {"text": notice.text, "item": _item(notice.item), "pointer": notice.pointer}


def object_(said: str, **members: Any) -> dict[str, Any]:
    """The schema of an object with these members."""
    optional = ("old", "new", "witness")
    return {
        "type": "object",
        "description": said,
        "properties": members,
        "required": [name for name in members if name not in optional],
    }


def text(said: str, *values: str) -> dict[str, Any]:
    """The schema of a text, one of `values` if there are any."""
    return {"type": "string", "description": said, **({"enum": list(values)} if values else {})}


def listed(items: dict[str, Any], said: str = "") -> dict[str, Any]:
    """The schema of a list."""
    return {"type": "array", "items": items, **({"description": said} if said else {})}


_IMPACT = text("What it does to whoever relies on the contract.", *(impact.word for impact in Impact))
_ITEM = {
    **object_(
        "What it is about.",
        kind=text("What kind of thing.", *(kind.value for kind in Kind), "server"),
        name=text("Its name or URI, as the server wrote it; empty for the server itself."),
    ),
    "type": ["object", "null"],
}
_FAILS = {"type": "boolean", "description": "Whether it is a reason that the run fails, by `--fail-on`."}
_LOCATION = {
    **object_(
        "Where it is to be shown: in the lock, or where the server is configured. Null if neither is in the tree.",
        path=text("Relative to the top of the git tree, or else to the project, with `/`."),
        line={"type": "integer", "minimum": 1},
    ),
    "type": ["object", "null"],
}
_CHANGE = object_(
    "One difference, under one rule.",
    rule=text("The rule's id."),
    impact=_IMPACT,
    confidence=text("How the impact is known.", *(confidence.value for confidence in Confidence)),
    item=_ITEM,
    pointer=text("JSON Pointer of the raw difference, from the definition."),
    part=text("JSON Pointer below `pointer`, where one raw difference is several changes."),
    also=listed({"type": "string"}, "Pointers of further raw differences that this change is."),
    name=text("The parameter, field or member."),
    to=text("Its new name, where it was renamed."),
    summary=text("What changed."),
    why=text("What that does to whom; empty where nothing more can be said."),
    hits=listed(
        text("", "C", "R", "O", "H", "A"),
        "C cached callers, R agents that read, O consumers of results, H people, A calls that a client "
        "makes without asking.",
    ),
    fingerprint=text("SHA-256 over server, item, rule and place: names this change across runs."),
    ignored=text("Why the project's settings ignore it, or that they no longer do; empty where they say nothing."),
    fails=_FAILS,
    location=_LOCATION,
    old={"description": "The old value; absent where there was none."},
    new={"description": "The new value; absent where there is none."},
    witness={"description": "A call, or a result, that proves the impact."},
)
_SERVER = object_(
    "One server.",
    name=text("As it is configured."),
    status=text("What became of it.", *(status.value for status in Status)),
    error=text("Why it could not be checked, or how its launch spec differs; may be empty."),
    worst=_IMPACT,
    fails=_FAILS,
    location=_LOCATION,
    unchanged={"type": "integer", "description": "How many items are as pinned."},
    same=listed(_ITEM, "The items that are as pinned."),
    changes=listed(_CHANGE, "Worst first, immaterial ones included."),
    notices=listed(object_("A fact about one side alone.", text=text(""), item=_ITEM, pointer=text(""))),
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
        "checked": {
            "type": "boolean",
            "description": "Whether any server was to be checked; not so if all were left out.",
        },
        "servers": listed(_SERVER),
        "notes": listed({"type": "string"}),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "mcplock report",
        **object_("What one run found.", **members),
    }
