"""The catalogue: every kind of change, one row each.

A check (`diff`) says what changed by naming a row; how bad that is, and in which words, is said here and nowhere else.
A row's impacts are what the change does where nothing is known but the change itself. `{name}` stands for the parameter,
the field or the member that the change is about.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from mcp_lock.outcome import Impact, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

IMMATERIAL, COSMETIC, COMPATIBLE, SILENT, UNPROVEN, BREAKING, SECURITY = Impact


def _row(id: str, impact: Impact, summary: str, why: str, output: Impact | None = None) -> Rule:  # noqa: A002 - the catalogue's own word
    return Rule(id, impact, impact if output is None else output, summary, why)


# A row of the catalogue is one line, so that rows can be compared.
# fmt: off

def _listed() -> Iterator[Rule]:
    """What a server lists."""
    yield _row("tool-added", COMPATIBLE, "tool added", "every agent that reads the list now reads its text, which nobody has reviewed")
    yield _row("tool-removed", BREAKING, "tool removed", "a call of it is answered with an error")
    yield _row("tool-renamed", BREAKING, "`{name}` is now called `{to}`", "a call by the old name is answered with an error")
    yield _row("tool-identifier-changed", BREAKING, "`{name}` is now called `{to}`; the names differ in an identifier alone", "a call by the old name is answered with an error; such a name changes from start to start")
    yield _row("tool-added-renamed", SECURITY, "`{to}` looks like `{name}` under another name", "a pin by name would trust it as a new tool; compare it with the one it replaces")
    yield _row("prompt-added", COMPATIBLE, "prompt added", "its text is offered to users, and nobody has reviewed it")
    yield _row("prompt-removed", BREAKING, "prompt removed", "whoever asks for it gets an error")
    yield _row("template-added", COMPATIBLE, "resource template added", "agents may read what they could not reach before")
    yield _row("template-removed", BREAKING, "resource template removed", "URIs made from it may no longer be read")
    yield _row("resource-added", IMMATERIAL, "resource added", "resources come and go with the data behind them")
    yield _row("resource-removed", IMMATERIAL, "resource removed", "resources come and go with the data behind them")
    yield _row("resource-size-changed", IMMATERIAL, "size or date of a resource changed", "it follows the data behind it")
    yield _row("resource-moved", SILENT, "resource moved to another URI", "the same name and description now stand before other content")
    for noun in ("prompt", "resource", "template"):
        yield _row(f"{noun}-changed", SILENT, "{name} of a " + noun + " changed", "who relies on the old definition now gets something else")
    yield _row("server-instructions-changed", SILENT, "instructions of the server changed", "they enter the agent's context and may steer every call")
    yield _row("tool-list-unstable", SECURITY, "{name} differs between two lists of one connection", "a pin of one answer says nothing about the next")
    yield _row("server-name-changed", SILENT, "the server calls itself otherwise", "another program may be answering")


def _texts() -> Iterator[Rule]:
    """Descriptions: what a model reads to decide whether and how to call."""
    for noun in ("tool", "prompt", "resource", "template", "property", "schema"):
        said = {"property": "description of `{name}`", "schema": "description inside the schema"}.get(
            noun, "description"
        )
        yield _row(f"{noun}-description-meaning-changed", SILENT, f"{said} says something else", "calls stay valid but may no longer mean what the caller thinks")
        yield _row(f"{noun}-description-reworded", SILENT, f"{said} reworded", "agents that read it may call at other times or with other values")
        yield _row(f"{noun}-description-whitespace", COSMETIC, f"{said} differs in layout or punctuation alone", "the words are the same")
        yield _row(f"{noun}-description-added", SILENT, f"{said} added", "agents that read it may call at other times or with other values")
        yield _row(f"{noun}-description-removed", SILENT, f"{said} removed", "agents have to guess what it said")
    yield _row("invisible-characters", SECURITY, "characters that nobody can see came into `{name}`", "a reviewer and a model read different text")
    yield _row("title-changed", COSMETIC, "title changed", "people see another name; calls are the same")
    yield _row("icons-changed", COSMETIC, "icons changed", "people see another picture; calls are the same")
    yield _row("comment-changed", COSMETIC, "comment in the schema changed", "it binds nobody, though a model may read it")
    yield _row("examples-changed", SILENT, "examples of `{name}` changed", "models copy examples, so agents may send other values")


def _tool_fields() -> Iterator[Rule]:
    """The members of a tool besides its schemas."""
    yield _row("hint-readonly-dropped", SECURITY, "no longer says that it only reads (absent means false)", "hosts and people who allowed it as read-only now allow it to write")
    yield _row("hint-readonly-claimed", SILENT, "now says that it only reads", "hosts may stop asking before they call it, on the server's word alone")
    yield _row("hint-destructive-added", SECURITY, "now counts as destructive (absent means true)", "a call that was allowed as harmless may now destroy")
    yield _row("hint-destructive-denied", SILENT, "now says that it destroys nothing", "hosts may stop asking before they call it, on the server's word alone")
    yield _row("hint-idempotent-dropped", SILENT, "no longer says that repeating a call does no more", "a host that retries now repeats the effect")
    yield _row("hint-idempotent-claimed", SILENT, "now says that repeating a call does no more", "hosts may retry, on the server's word alone")
    yield _row("hint-openworld-added", SILENT, "now reaches beyond its own domain (absent means true)", "data may leave by a way that was not there")
    yield _row("hint-openworld-denied", SILENT, "now says that it stays in its own domain", "rules against leaks may be switched off, on the server's word alone")
    yield _row("hint-spelled-out", COSMETIC, "`{name}` spelt otherwise, with the same effect", "the value in force, given or by default, is the same")
    yield _row("hint-invalid", UNPROVEN, "`{name}` is no true or false", "hosts differ in what they read into it")
    yield _row("annotation-unknown-changed", UNPROVEN, "annotation `{name}` changed", "nothing says what it stands for")
    yield _row("input-schema-missing", BREAKING, "there is no valid input schema any more", "hosts drop such a tool, and callers have nothing to go by")
    yield _row("input-schema-repaired", COMPATIBLE, "there is a valid input schema now", "hosts that dropped the tool may offer it")
    yield _row("output-schema-added", COMPATIBLE, "output schema added", "results now come with a promise")
    yield _row("output-schema-removed", BREAKING, "output schema removed", "the promise about results is gone")
    yield _row("task-support-changed", BREAKING, "how the tool runs as a task changed", "a call made in the old way may be refused")
    yield _row("task-support-spelled-out", IMMATERIAL, "task support spelt out at its default", "the value in force is the same")
    yield _row("null-spelled-out", IMMATERIAL, "`{name}` is null in one and absent in the other", "protocol eras and SDK versions differ so; nothing depends on it")
    yield _row("meta-changed", IMMATERIAL, "`_meta` changed", "an open namespace that no call depends on")
    yield _row("app-ui-changed", SILENT, "`_meta.ui` changed", "people are shown another page, or it may do more")
    yield _row("unknown-field-changed", UNPROVEN, "unknown member `{name}` changed", "nothing says what it stands for")


def _properties() -> Iterator[Rule]:
    """Parameters and fields."""
    yield _row("property-added-optional", COMPATIBLE, "optional `{name}` added", "old calls do without it")
    yield _row("property-added-required", BREAKING, "required `{name}` added", "old calls do not send it and are refused", COMPATIBLE)
    yield _row("property-removed-ignored", SILENT, "`{name}` removed; unknown names are still accepted", "old calls still send it, and it is dropped without a word")
    yield _row("property-removed-rejected", BREAKING, "`{name}` removed; unknown names are refused", "old calls that send it are refused", SILENT)
    yield _row("property-removed-required", BREAKING, "`{name}`, which was always there, removed", "who relies on it finds nothing")
    yield _row("parameters-lost", BREAKING, "every name inside `{name}` is gone", "nothing says any more how to call the tool; this happens when a schema library is upgraded")
    yield _row("property-renamed", UNPROVEN, "`{name}` is now `{to}`", "old calls still use the old name, which is refused, or accepted and ignored")
    yield _row("required-added", BREAKING, "`{name}` became required", "calls that leave it out are refused", COMPATIBLE)
    yield _row("required-removed", COMPATIBLE, "`{name}` is no longer required", "who relies on it may find nothing", BREAKING)
    yield _row("required-followed", COSMETIC, "which names are required follows the names that came and went", "the changes of those names say what it does")
    yield _row("required-order-changed", IMMATERIAL, "the same required names in another order", "it is a set")
    yield _row("default-changed", SILENT, "default of `{name}` changed", "the call that leaves it out now does something else")
    yield _row("default-added", SILENT, "default of `{name}` added", "what happens when it is left out is now said, or has changed")
    yield _row("default-removed", SILENT, "default of `{name}` removed", "what happens when it is left out is no longer said")
    yield _row("deprecated-added", COMPATIBLE, "`{name}` is deprecated", "it still works, and says that it will go")
    yield _row("deprecated-removed", COMPATIBLE, "`{name}` is no longer deprecated", "nothing that worked stops")
    yield _row("read-write-only-changed", SILENT, "`{name}` became or ceased to be read- or write-only", "what is sent may be ignored, what was returned may be missing")


def _values() -> Iterator[Rule]:
    """Types and values."""
    yield _row("type-changed", BREAKING, "type of `{name}` changed", "values of the old type are refused, or coerced to something else")
    yield _row("type-widened", COMPATIBLE, "`{name}` takes more types", "consumers may meet a type they do not know", BREAKING)
    yield _row("type-narrowed", BREAKING, "`{name}` takes fewer types", "values of the types that are gone are refused", COMPATIBLE)
    yield _row("type-order-changed", IMMATERIAL, "the same types in another order", "it is a set")
    yield _row("became-nullable", COMPATIBLE, "`{name}` may be null", "consumers may meet null where there was none", BREAKING)
    yield _row("became-not-nullable", BREAKING, "`{name}` may no longer be null", "calls that send null are refused", COMPATIBLE)
    yield _row("enum-added", BREAKING, "`{name}` now takes listed values only", "every other value is refused; a server that coerces does so without a word", COMPATIBLE)
    yield _row("enum-removed", COMPATIBLE, "`{name}` no longer lists its values", "consumers may meet values they do not know", BREAKING)
    yield _row("enum-value-removed", BREAKING, "values of `{name}` removed", "calls that send them are refused; a server that coerces does so without a word", COMPATIBLE)
    yield _row("enum-value-added", COMPATIBLE, "values of `{name}` added", "consumers may meet values they do not know", BREAKING)
    yield _row("enum-value-retyped", BREAKING, "values of `{name}` changed their JSON type", "a value that looks the same is refused")
    yield _row("enum-labels-moved", SILENT, "values of `{name}` are in another order than before, and what goes with them by place may not be", "a label may now stand for another value")
    yield _row("enum-reordered", IMMATERIAL, "the same values in another order", "it is a set")
    yield _row("const-added", BREAKING, "`{name}` now takes one value only", "every other value is refused", COMPATIBLE)
    yield _row("const-changed", BREAKING, "the one value of `{name}` changed", "the old value is refused")
    yield _row("const-removed", COMPATIBLE, "`{name}` takes more than one value", "consumers may meet values they do not know", BREAKING)
    yield _row("pattern-added", BREAKING, "`{name}` must match a pattern", "values that do not match are refused", COMPATIBLE)
    yield _row("pattern-changed", UNPROVEN, "pattern of `{name}` changed", "values that matched may be refused")
    yield _row("pattern-removed", COMPATIBLE, "`{name}` need not match a pattern any more", "consumers may meet values they do not know", BREAKING)
    yield _row("format-added", UNPROVEN, "`{name}` has a format", "servers differ in whether they enforce it", COMPATIBLE)
    yield _row("format-changed", UNPROVEN, "format of `{name}` changed", "the same text may be refused or read otherwise")
    yield _row("format-removed", COMPATIBLE, "`{name}` has no format any more", "consumers may meet text they cannot read", UNPROVEN)
    yield _row("content-changed", SILENT, "encoding or media type of `{name}` changed", "the same text is decoded otherwise")
    yield _row("content-schema-changed", UNPROVEN, "schema of the decoded `{name}` changed", "no validator checks it")


BOUNDS = {
    # keyword: (words, whether a greater value is stricter)
    "minimum": ("least value", True),
    "maximum": ("greatest value", False),
    "exclusiveMinimum": ("lower bound", True),
    "exclusiveMaximum": ("upper bound", False),
    "minLength": ("least length", True),
    "maxLength": ("greatest length", False),
    "minItems": ("least number of items", True),
    "maxItems": ("greatest number of items", False),
    "minProperties": ("least number of members", True),
    "maxProperties": ("greatest number of members", False),
    "minContains": ("least number of matching items", True),
    "maxContains": ("greatest number of matching items", False),
}
"""The keywords whose value is a bound. The rules are the keyword in kebab-case with `-tightened` or `-relaxed`."""


def kebab(keyword: str) -> str:
    """A JSON Schema keyword as rule ids spell it: `minLength` is `min-length`, `$ref` is `ref`."""
    return "".join(f"-{char.lower()}" if char.isupper() else char for char in keyword.lstrip("$"))


def _bounds() -> Iterator[Rule]:
    for keyword, (words, _) in BOUNDS.items():
        yield _row(f"{kebab(keyword)}-tightened", BREAKING, f"{words} of `{{name}}` tightened", "values beyond it are refused", COMPATIBLE)
        yield _row(f"{kebab(keyword)}-relaxed", COMPATIBLE, f"{words} of `{{name}}` relaxed", "consumers may meet values beyond it", BREAKING)
    yield _row("multiple-of-tightened", BREAKING, "`{name}` must be a multiple of more", "values between are refused", COMPATIBLE)
    yield _row("multiple-of-relaxed", COMPATIBLE, "`{name}` may be a multiple of less", "consumers may meet values between", BREAKING)
    yield _row("multiple-of-changed", BREAKING, "`{name}` must be a multiple of something else", "values that fitted are refused")
    yield _row("unique-items-added", BREAKING, "items of `{name}` must differ", "lists with repeats are refused", COMPATIBLE)
    yield _row("unique-items-removed", COMPATIBLE, "items of `{name}` may repeat", "consumers may meet repeats", BREAKING)


def _structure() -> Iterator[Rule]:
    """Objects, arrays, combinators, references, and the document itself."""
    yield _row("object-closed", COMPATIBLE, "`{name}` refuses names it does not declare", "calls that send declared names alone still work; others now fail loudly")
    yield _row("object-opened", COMPATIBLE, "`{name}` accepts names it does not declare", "misspelt and outdated names are dropped without a word from now on", BREAKING)
    yield _row("map-closed", BREAKING, "`{name}` takes no free names any more", "calls that send them are refused", COMPATIBLE)
    yield _row("map-changed", UNPROVEN, "what `{name}` takes under free names changed", "values under free names may be refused")
    yield _row("items-changed", UNPROVEN, "what `{name}` takes as items changed", "items that worked may be refused")
    yield _row("tuple-closed", BREAKING, "`{name}` takes no further items", "longer lists are refused", COMPATIBLE)
    yield _row("tuple-opened", COMPATIBLE, "`{name}` takes further items", "consumers may meet longer lists", BREAKING)
    yield _row("prefix-item-added", UNPROVEN, "an item of the tuple `{name}` got a schema of its own", "items that worked at that place may be refused")
    yield _row("prefix-item-removed", UNPROVEN, "an item of the tuple `{name}` lost its own schema", "items at that place are read otherwise")
    yield _row("contains-changed", UNPROVEN, "what `{name}` must contain changed", "lists that worked may be refused")
    yield _row("unevaluated-items-changed", UNPROVEN, "what `{name}` takes as further items changed", "lists that worked may be refused")
    yield _row("unevaluated-properties-changed", UNPROVEN, "what `{name}` takes as further members changed", "calls that worked may be refused")
    yield _row("pattern-property-added", UNPROVEN, "names like `{name}` got a schema", "values under such names may be refused")
    yield _row("pattern-property-removed", UNPROVEN, "names like `{name}` lost their schema", "values under such names are no longer checked, or refused")
    yield _row("property-names-changed", UNPROVEN, "which names `{name}` takes changed", "names that worked may be refused")
    yield _row("dependent-required-tightened", BREAKING, "`{name}` now needs other members with it", "calls that send it alone are refused", COMPATIBLE)
    yield _row("dependent-required-relaxed", COMPATIBLE, "`{name}` needs fewer members with it", "consumers may find it alone", BREAKING)
    yield _row("dependent-required-order-changed", IMMATERIAL, "the same names in another order", "it is a set")
    yield _row("dependent-schema-changed", UNPROVEN, "what must hold when `{name}` is sent changed", "calls that worked may be refused")
    yield _row("any-of-branch-added", COMPATIBLE, "`{name}` has one more alternative", "consumers may meet a form they do not know", BREAKING)
    yield _row("any-of-branch-removed", UNPROVEN, "`{name}` has one alternative less", "values of that form may be refused", COMPATIBLE)
    yield _row("one-of-branch-added", UNPROVEN, "`{name}` has one more exclusive alternative", "a value that fits two alternatives is refused", BREAKING)
    yield _row("one-of-branch-removed", BREAKING, "`{name}` has one exclusive alternative less", "values of that form are refused", COMPATIBLE)
    yield _row("all-of-branch-added", UNPROVEN, "`{name}` must satisfy one more schema", "values that worked may be refused", COMPATIBLE)
    yield _row("all-of-branch-removed", COMPATIBLE, "`{name}` must satisfy one schema less", "consumers may meet values they do not know", UNPROVEN)
    yield _row("combinator-changed", UNPROVEN, "how `{name}` combines schemas changed", "values that worked may be refused")
    yield _row("not-changed", UNPROVEN, "what `{name}` must not be changed", "values that worked may be refused")
    yield _row("if-then-else-changed", UNPROVEN, "a condition on `{name}` changed", "calls that worked may be refused")
    yield _row("ref-retargeted", UNPROVEN, "`{name}` refers to another definition", "what it takes is what that definition takes")
    yield _row("external-ref-added", SECURITY, "`{name}` refers to another document", "who fetches it reads what somebody else may change, or is led to an address inside")
    yield _row("dynamic-ref-changed", UNPROVEN, "a dynamic reference in `{name}` changed", "what it takes depends on where it is reached from")
    yield _row("def-added", COSMETIC, "definition `{name}` added", "it does nothing until something refers to it")
    yield _row("def-renamed", IMMATERIAL, "definition `{name}` is now called `{to}`, and so is every reference to it", "nothing depends on its name")
    yield _row("def-removed", UNPROVEN, "definition `{name}` removed", "what refers to it no longer resolves")
    yield _row("dialect-changed", UNPROVEN, "JSON Schema dialect changed", "the same text may mean something else")
    yield _row("id-changed", UNPROVEN, "identifier of the schema changed", "references may resolve elsewhere")
    yield _row("schema-became-true", COMPATIBLE, "`{name}` takes anything now", "consumers may meet any value", BREAKING)
    yield _row("schema-became-false", BREAKING, "`{name}` takes nothing any more", "whatever is sent there is refused", COMPATIBLE)
    yield _row("schema-replaced", UNPROVEN, "what `{name}` takes was written anew", "values that worked may be refused")
    yield _row("equal-rewrite", COSMETIC, "`{name}` is written otherwise and takes the same values", "proved equal both ways")
    yield _row("keyword-respelled", COSMETIC, "the same constraint on `{name}`, spelt otherwise", "what is taken is the same")
    yield _row("x-mcp-header-added", SECURITY, "`{name}` is now copied into an HTTP header", "whoever carries the request can read it")
    yield _row("x-mcp-header-changed", BREAKING, "the HTTP header of `{name}` changed", "gateways that route by it miss it")
    yield _row("extension-keyword-changed", UNPROVEN, "extension keyword `{name}` changed", "nothing says what it stands for, though a model reads it")
    yield _row("unknown-keyword-changed", UNPROVEN, "unknown keyword `{name}` changed", "a server may act on it")


# fmt: on


_PARTS = (
    (_listed, "CR"),
    (_texts, "R"),
    (_tool_fields, "H"),
    (_properties, "C"),
    (_values, "C"),
    (_bounds, "C"),
    (_structure, "C"),
)
"""The parts of the catalogue, and who is hit by what is in them."""

_HITS = {f"{noun}-added": "R" for noun in ("tool", "prompt", "template")} | {
    "required-followed": "",
    "equal-rewrite": "",
}
"""Who is hit where it is not who is hit by the rest of that part."""

_BECAUSE = {
    "property-renamed": {
        SILENT: "the old argument is accepted and ignored",
        BREAKING: "calls by the old name are refused, or silently stripped of it by a lenient host",
    },
}
"""What the change does where proof or witness has told which of two things it is."""

_UNPROVABLE = re.compile(
    "required-(order-changed|followed)|type-order-changed|enum-reordered|enum-labels-moved|(default|deprecated|format|content)-.*"
    "|read-write-only-changed|dependent-required-order-changed|dynamic-ref-changed|id-changed|.*-keyword-changed|keyword-respelled|def-renamed|equal-rewrite|x-mcp-.*|parameters-lost"
)
"""What validation does not decide, in the parts that it decides otherwise."""


def _catalogue() -> dict[str, Rule]:
    rows: dict[str, Rule] = {}
    for part, hits in _PARTS:
        for rule in part():
            assert rule.id not in rows, rule.id
            provable = part in (_properties, _values, _bounds, _structure) and not _UNPROVABLE.fullmatch(rule.id)
            rows[rule.id] = replace(
                rule, hits=_HITS.get(rule.id, hits), provable=provable, because=_BECAUSE.get(rule.id, {})
            )
    return rows


RULES = _catalogue()
"""By id."""
