"""One edit of a definition: a table from the member it is in to the check that says which rule it falls under.

Tools first; prompts, resources and resource templates share the members that they share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from mcp_lock.contract import Contract, Kind
from mcp_lock.diff import definitions
from mcp_lock.diff.hidden import hidden_added
from mcp_lock.diff.judged import judged
from mcp_lock.diff.schema import check as check_schema
from mcp_lock.diff.schema import text_rule
from mcp_lock.diff.spot import Found, Spot, as_object, spot
from mcp_lock.diff.walk import Edit, differences
from mcp_lock.outcome import ABSENT, Change, Confidence, Impact, Item
from mcp_lock.pointer import place
from mcp_lock.rules import RULES

FieldCheck: TypeAlias = Callable[[Edit, str], Iterator[Found]]
"""Takes the edit and the noun of the definition's kind as rule ids spell it."""

_NOUNS = {Kind.TOOL: "tool", Kind.PROMPT: "prompt", Kind.RESOURCE: "resource", Kind.TEMPLATE: "template"}

_HINTS = {
    # hint: (its value when absent, rule when it turns true, rule when it turns false)
    "readOnlyHint": (False, "hint-readonly-claimed", "hint-readonly-dropped"),
    "destructiveHint": (True, "hint-destructive-added", "hint-destructive-denied"),
    "idempotentHint": (False, "hint-idempotent-claimed", "hint-idempotent-dropped"),
    "openWorldHint": (True, "hint-openworld-added", "hint-openworld-denied"),
}


_OF_WRITERS = frozenset(
    {
        *("hint-destructive-added", "hint-destructive-denied"),
        *("hint-idempotent-claimed", "hint-idempotent-dropped"),
    }
)
"""Rules about hints that say nothing of a tool that only reads (specification of 2026-07-28, ToolAnnotations)."""


def noun(kind: Kind) -> str:
    """How rule ids spell a kind."""
    return _NOUNS[kind]


_SCHEMAS = ("inputSchema", "outputSchema")


def diff_contract(old: Contract, new: Contract, server: str = "") -> list[Change]:
    """Every change between two contracts of one name, each with the impact that is known of it."""
    changes = _changes(old, new, server)
    for field in _SCHEMAS:
        changes = judged(changes, field, old.definition.get(field), new.definition.get(field))
    return changes


def unjudged_changes(old: Contract, new: Contract, server: str = "") -> list[Change]:
    """The same places, each with its rule's own impact: no proof, no witness, no renamed parameters.

    For whoever must answer at once: what it costs does not depend on how hard the schemas are to prove.
    """
    changes = _changes(old, new, server)
    for field in _SCHEMAS:
        before, after = old.definition.get(field), new.definition.get(field)
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            changes = definitions.renamed(changes, field, before, after)
    return changes


def is_immaterial(old: Contract, new: Contract) -> bool:
    """Whether nothing but immaterial changes lie between two contracts; no proof can make one of those of another."""
    return all(change.impact is Impact.IMMATERIAL for change in unjudged_changes(old, new))


def _changes(old: Contract, new: Contract, server: str) -> list[Change]:
    item = Item(new.kind, new.name)
    return [
        _change(found, where, edit, item, server)
        for edit in differences(old.definition, new.definition)
        for found, where in _found(edit, old, new)
    ]


def _found(edit: Edit, old: Contract, new: Contract) -> Iterator[tuple[Found, Spot | None]]:
    field = edit.path[0]
    if hidden_added(edit.old, edit.new):
        yield Found("invisible-characters", ".".join(place(edit.pointer)).strip(".") or edit.path[0]), None
    in_schema = new.kind is Kind.TOOL and field in ("inputSchema", "outputSchema") and len(edit.path) > 1
    if _is_null_spelled(edit) and not in_schema:
        yield Found("null-spelled-out", field), None
    elif in_schema:
        where = spot(edit, old.definition, new.definition)
        yield from ((found, where) for found in check_schema(where))
    else:
        checks = _TOOL if new.kind is Kind.TOOL else _SHARED
        only_reads = any(
            as_object(side.definition.get("annotations")).get("readOnlyHint") is True for side in (old, new)
        )
        for found in checks.get(field, _any_other)(edit, noun(new.kind)):
            moot = only_reads and found.rule in _OF_WRITERS
            yield (found._replace(rule="hint-spelled-out") if moot else found), None


def _is_null_spelled(edit: Edit) -> bool:
    """A member that is null on one side and absent on the other, at a place where null says nothing."""
    shallow = len(edit.path) == 1 or (len(edit.path) == 2 and edit.path[0] in ("annotations", "execution"))
    return shallow and {_nothing(edit.old), _nothing(edit.new)} == {True} and edit.old is not edit.new


def _nothing(value: Any) -> bool:
    return value is ABSENT or value is None


def _change(found: Found, where: Spot | None, edit: Edit, item: Item, server: str) -> Change:
    rule = RULES[found.rule]
    impact = rule.output if where and where.is_output else rule.input
    if where and where.is_negated and impact in (Impact.COMPATIBLE, Impact.BREAKING):
        impact = Impact.UNPROVEN  # under `not`, wider is narrower; only a proof can tell
    confidence = Confidence.UNPROVEN if impact is Impact.UNPROVEN else Confidence.HEURISTIC
    old, new = _part(edit.old, found.part), _part(edit.new, found.part)
    part = Edit(found.part, None, None).pointer
    hits = "O" if where and where.is_output else rule.hits
    return Change(rule, item, edit.pointer, old, new, impact, server, confidence, hits, name=found.name, part=part)


def _part(value: Any, part: tuple[str, ...]) -> Any:
    for key in part:
        value = as_object(value).get(key, ABSENT)
    return value


def _description(edit: Edit, kind: str) -> Iterator[Found]:
    yield Found(text_rule(kind, edit.old, edit.new), "description")


def _title(_edit: Edit, _kind: str) -> Iterator[Found]:
    yield Found("title-changed", "title")


def _icons(_edit: Edit, _kind: str) -> Iterator[Found]:
    yield Found("icons-changed", "icons")


def _any_other(edit: Edit, kind: str) -> Iterator[Found]:
    yield Found("unknown-field-changed" if kind == "tool" else f"{kind}-changed", edit.path[0])


def _size(_edit: Edit, _kind: str) -> Iterator[Found]:
    yield Found("resource-size-changed", "size")


def _input_schema(edit: Edit, _kind: str) -> Iterator[Found]:
    if isinstance(edit.new, Mapping):
        yield Found("input-schema-repaired", "inputSchema")
    else:
        yield Found("input-schema-missing", "inputSchema")


def _output_schema(edit: Edit, _kind: str) -> Iterator[Found]:
    if _nothing(edit.old):
        yield Found("output-schema-added", "outputSchema")
    elif _nothing(edit.new):
        yield Found("output-schema-removed", "outputSchema")
    else:
        yield Found("schema-replaced", "result")


def _is_odd(edit: Edit) -> bool:
    """Whether a side that should be an object is something else, in which anybody may write anything."""
    return any(not _nothing(side) and not isinstance(side, Mapping) for side in (edit.old, edit.new))


def _annotations(edit: Edit, kind: str) -> Iterator[Found]:
    if len(edit.path) == 1 and _is_odd(edit):
        yield Found("unknown-field-changed" if kind == "tool" else f"{kind}-changed", "annotations")
        return
    if len(edit.path) > 1:
        yield _annotation(edit.path[1], edit.old, edit.new, (), kind, as_whole=len(edit.path) == 2)
        return
    old, new = as_object(edit.old), as_object(edit.new)
    members = sorted({*old, *new})
    for name in members:
        before, after = old.get(name, ABSENT), new.get(name, ABSENT)
        yield _annotation(name, before, after, (name,), kind, as_whole=True)
    if not members:
        yield Found("null-spelled-out", "annotations")


def _annotation(name: str, old: Any, new: Any, part: tuple[str, ...], kind: str, *, as_whole: bool) -> Found:
    if name == "title":
        return Found("title-changed", "annotations.title", part)
    if kind == "resource" and name == "lastModified":
        return Found("resource-size-changed", name, part)
    if kind != "tool" or name not in _HINTS or not as_whole:
        return Found("annotation-unknown-changed" if kind == "tool" else f"{kind}-changed", name, part)
    return Found(_hint_rule(name, old, new), name, part)


def _hint_rule(name: str, old: Any, new: Any) -> str:
    absent, turned_true, turned_false = _HINTS[name]
    was, now = (absent if _nothing(side) else side for side in (old, new))
    if not isinstance(now, bool):
        return "hint-invalid"
    if was is now:
        return "hint-spelled-out"
    return turned_true if now else turned_false


def _execution(edit: Edit, _kind: str) -> Iterator[Found]:
    if len(edit.path) == 1 and _is_odd(edit):
        yield Found("unknown-field-changed", "execution")
        return
    if len(edit.path) == 1:
        old, new = as_object(edit.old), as_object(edit.new)
        others = {*old, *new} - {"taskSupport"}
        yield from (Found("unknown-field-changed", f"execution.{name}", (name,)) for name in sorted(others))
        if not others or {"taskSupport"} & {*old, *new}:
            yield _task_support(old.get("taskSupport", ABSENT), new.get("taskSupport", ABSENT))
    elif edit.path[1] == "taskSupport":
        yield _task_support(edit.old, edit.new)
    else:
        yield Found("unknown-field-changed", f"execution.{edit.path[1]}")


def _task_support(old: Any, new: Any) -> Found:
    was, now = ("forbidden" if _nothing(side) else side for side in (old, new))
    return Found("task-support-spelled-out" if was == now else "task-support-changed", "execution.taskSupport")


def _meta(edit: Edit, _kind: str) -> Iterator[Found]:
    if len(edit.path) > 1:
        yield Found("app-ui-changed" if edit.path[1] == "ui" else "meta-changed", "_meta")
        return
    members = {*as_object(edit.old), *as_object(edit.new)}
    if "ui" in members:
        yield Found("app-ui-changed", "_meta.ui", ("ui",))
    if members != {"ui"}:
        yield Found("meta-changed", "_meta")


_SHARED: Mapping[str, FieldCheck] = {
    "description": _description,
    "title": _title,
    "icons": _icons,
    "annotations": _annotations,
    "_meta": _meta,
    "size": _size,
}
_TOOL: Mapping[str, FieldCheck] = {
    **{name: check for name, check in _SHARED.items() if name != "size"},
    "inputSchema": _input_schema,
    "outputSchema": _output_schema,
    "execution": _execution,
}
