"""The old and the new value of a change, in the form that suits what they are, as paragraphs of spans.

Short values stand on one line, `10 → 5`; texts are compared word by word; lists by what came and went; schemas and
whole tools are said in a line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mcp_lock.contract import Kind
from mcp_lock.outcome import ABSENT, Change
from mcp_lock.pointer import tokens
from mcp_lock.report import schema_words, told, words
from mcp_lock.report.screen import Span, said
from mcp_lock.text import clip, hidden_message, odd_letters, visible_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_lock.report import Options


def values(change: Change, options: Options) -> Iterator[tuple[Span, ...]]:
    """Old and new, in the form that suits what they are."""
    old, new, parts = change.old, change.new, tokens(change.place)
    if not parts and change.item.kind is not None and isinstance(new if old is ABSENT else old, Mapping):
        yield from _whole(change, options)
    elif _is_text(old, new, parts):
        yield from _text(old, new, options)
    elif _is_set(parts, old, new):
        yield from _set(change, parts)
    elif _is_schema(parts) and (isinstance(old, Mapping) or isinstance(new, Mapping)):
        yield from _schema(change, parts, options)
    elif isinstance(old, Mapping) and isinstance(new, Mapping):
        yield from _fields(old, new, options)
    else:
        yield _arrow(schema_words.value(old), schema_words.value(new))


_TEXTS = frozenset({"description", "title", "instructions", "$comment"})


def _is_text(old: Any, new: Any, parts: Sequence[str]) -> bool:
    given = [side for side in (old, new) if side is not ABSENT]
    if not all(isinstance(side, str) for side in given):
        return False
    named = bool(parts) and parts[-1] in _TEXTS and parts[-2:-1] != ["properties"]
    return named or not parts or any(len(side) > 100 or " " in side.strip() or "\n" in side for side in given)


def _is_set(parts: Sequence[str], old: Any, new: Any) -> bool:
    if any(isinstance(side, Mapping) for side in (old, new)):
        return False
    inside = len(parts) > 1 and parts[-2] in ("required", "enum")
    return inside or any(isinstance(side, list | tuple) for side in (old, new))


_HOLD_SCHEMAS = frozenset(
    {
        "properties",
        "patternProperties",
        "$defs",
        "definitions",
        "dependentSchemas",
        "anyOf",
        "oneOf",
        "allOf",
        "prefixItems",
    }
)
_ARE_SCHEMAS = frozenset(
    {
        *("inputSchema", "outputSchema", "items", "additionalProperties", "not", "if", "then", "else", "contains"),
        *("propertyNames", "unevaluatedProperties", "unevaluatedItems", "contentSchema", "additionalItems"),
    }
)


def _is_schema(parts: Sequence[str]) -> bool:
    return bool(parts) and (parts[-1] in _ARE_SCHEMAS or (len(parts) > 2 and parts[-2] in _HOLD_SCHEMAS))


def _signed(sign: str, text: str) -> tuple[Span, ...]:
    role = {"+": "come", "-": "gone"}[sign]
    return (Span(f"{sign} ", role, solid=True), *said(text, role))


def _arrow(old: str, new: str) -> tuple[Span, ...]:
    return (*said(old, "gone"), Span(" → "), *said(new, "come"))


def _whole(change: Change, options: Options) -> Iterator[tuple[Span, ...]]:
    """An item that came or went: a tool by its signature, others by their text."""
    sign, definition = ("+", change.new) if change.old is ABSENT else ("-", change.old)
    if change.old is not ABSENT and change.new is not ABSENT:
        yield from _fields(change.old, change.new, options)
    elif change.item.kind is Kind.TOOL:
        (sign_span, *rest) = _signed(sign, schema_words.signature(definition, described=sign == "+"))
        yield (sign_span, Span(told.said_item(change.item), sign_span.role, solid=True), *rest)
    else:
        yield _signed(sign, schema_words.value(definition.get("description", definition)))
    message = hidden_message(schema_words.value(definition, 100_000)) if sign == "+" else ""
    if message:
        yield _revealed(message)


def _set(change: Change, parts: Sequence[str]) -> Iterator[tuple[Span, ...]]:
    """What came and what went; of a list that has changes of both kinds, what this one is about."""
    gone, come = told.members(change.old, change.new)
    gone = [] if come and change.rule.id.endswith("-added") else gone
    come = [] if gone and change.rule.id.endswith("-removed") else come
    if parts and parts[-1] == "required":
        gone, come = (_own(change, side) for side in (gone, come))
    say = schema_words.schema_line if parts and parts[-1] in _HOLD_SCHEMAS else schema_words.value
    spans: list[Span] = []
    for sign, side in (("+", come), ("-", gone)):
        for one in side[:12]:
            spans += [*_signed(sign, say(one, 80)), Span("  ")]
        if len(side) > 12:
            spans.append(Span(f"… {len(side) - 12} more  ", "dim"))
    yield tuple(spans[:-1]) or (Span("(the same values in another order)", "dim"),)


def _own(change: Change, names: list[Any]) -> list[Any]:
    """Of the names that came or went together, the one that this change is about."""
    return [name for name in names if f".{change.name}".endswith(f".{name}")] or names


def _schema(change: Change, parts: Sequence[str], options: Options) -> Iterator[tuple[Span, ...]]:
    if change.old is not ABSENT and change.new is not ABSENT:
        was, now = schema_words.schema_line(change.old), schema_words.schema_line(change.new)
        if was == now:
            yield from _fields(change.old, change.new, options)
        elif len(was) + len(now) < 60:
            yield _arrow(was, now)
        else:
            yield from (_signed("-", was), _signed("+", now))
        return
    sign, schema = ("+", change.new) if change.old is ABSENT else ("-", change.old)
    named = len(parts) > 1 and parts[-2] in ("properties", "$defs", "definitions")
    optional = "required" not in change.rule.id and "properties" in parts[-2:-1]
    yield _signed(sign, schema_words.member(parts[-1], schema, optional) if named else schema_words.schema_line(schema))
    message = hidden_message(schema_words.value(schema, 100_000)) if sign == "+" else ""
    if message:
        yield _revealed(message)


def _fields(old: Any, new: Any, options: Options) -> Iterator[tuple[Span, ...]]:
    """Two objects, by the members that differ."""
    if not (isinstance(old, Mapping) and isinstance(new, Mapping)):
        yield _arrow(schema_words.value(old), schema_words.value(new))
        return
    keys = [key for key in {**old, **new} if told.members(old.get(key, ABSENT), new.get(key, ABSENT)) != ([], [])]
    for key in keys[:8]:
        label = said(f"{visible_name(key)}: ")
        yield from ((*label, *spans) for spans in _field(key, old.get(key, ABSENT), new.get(key, ABSENT), options))
    if len(keys) > 8:
        yield (Span(f"… {len(keys) - 8} more members", "dim"),)


def _field(key: str, old: Any, new: Any, options: Options) -> Iterator[tuple[Span, ...]]:
    """One member of two objects: never two sides that look the same."""
    if isinstance(old, str) and isinstance(new, str) and _is_text(old, new, [key]):
        yield from _text(old, new, options)
        return
    limit = 10_000 if options.verbose else 80
    was, now = odd_letters(schema_words.value(old, limit)), odd_letters(schema_words.value(new, limit))
    yield _arrow(was, now) if was != now else (Span("differs in what is too long to show here", "dim"),)


def _text(old: Any, new: Any, options: Options) -> Iterator[tuple[Span, ...]]:
    if old is ABSENT or new is ABSENT:
        sign, text = ("+", new) if old is ABSENT else ("-", old)
        yield _signed(sign, f'"{_cut(text, options)}"')
    elif remark := words.remark(old, new):
        yield (Span(f"({remark})" if remark == "whitespace only" else remark),)
    else:
        pieces = words.excerpt(words.difference(old, new))
        last = len(pieces) - 1
        yield tuple(span for at, piece in enumerate(pieces) for span in _piece(piece, options, at > 0, at < last))
    message = "" if new is ABSENT else hidden_message(new)
    if message and (old is ABSENT or message != hidden_message(old)):
        yield _revealed(message)


def _cut(text: str, options: Options) -> str:
    return text if options.verbose else clip(text, 700)


_MARKS = {words.Kind.OLD: ("[-", "-]"), words.Kind.NEW: ("{+", "+}")}


def _piece(piece: words.Piece, options: Options, follows: bool, leads: bool) -> Iterator[Span]:
    """A piece of a difference: by colour, or by marks where there is none."""
    if piece.kind is words.Kind.GAP:
        yield Span(f"{' ' * follows}…{' ' * leads}", "dim")
    elif piece.kind is words.Kind.SAME:
        yield from said(piece.text)
    else:
        before, after = ("", "") if options.colour else _MARKS[piece.kind]
        yield from (Span(before, piece.kind.value), *_changed(piece, options), Span(after, piece.kind.value))


def _changed(piece: words.Piece, options: Options) -> tuple[Span, ...]:
    """Text that is on one side alone: there every blank counts, and so does a letter that looks like another."""
    role = piece.kind.value
    if piece.text.isspace():
        shown = re.sub(r"[^ ]", lambda found: _BLANKS.get(found[0]) or f"\\u{{{ord(found[0]):x}}}", piece.text)
        return (Span(shown, f"{role} blank", solid=True),)
    return said(odd_letters(_cut(piece.text, options)), role)


_BLANKS = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def _revealed(message: str) -> tuple[Span, ...]:
    return (Span("hidden text: ", "hidden"), *said(clip(message, 300)))
