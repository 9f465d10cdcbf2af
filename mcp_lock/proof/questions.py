"""The questions that decide what a change of a schema does to a caller, each answered by a proof or by a witness.

- loud: is there an old-shaped call that the new schema refuses?
- silent: is there one that it takes, though it no longer declares all of it?
- equality: do both take the same values, closed as well as open?

Everything here may be slow on a hostile schema; `proof` decides where it runs. Annotations are not looked at.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from mcp_lock.canonical import same
from mcp_lock.outcome import ABSENT, Confidence, Impact
from mcp_lock.proof.closed import Dangling, close, without_hints, words
from mcp_lock.proof.dialect import NotEvaluated, normalise
from mcp_lock.proof.inclusion import canonical, includes
from mcp_lock.proof.skeleton import skeleton
from mcp_lock.proof.witness import Test, candidates, search

if TYPE_CHECKING:
    from collections.abc import Callable

    from jsonschema_rs import CanonicalSchema

    from mcp_lock.proof.refs import Schema


class Direction(Enum):
    """Whose values a schema describes: what callers send, or what they are sent."""

    INPUT = "input"
    OUTPUT = "output"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a change of a schema does to whoever relies on it."""

    impact: Impact
    """COSMETIC, COMPATIBLE, SILENT, UNPROVEN or BREAKING."""
    confidence: Confidence
    """PROVED, WITNESSED, or UNPROVEN."""
    reason: str = ""
    """One sentence for a reader, without server text."""
    witness: Any = ABSENT
    """Breaking: a value that was right and is refused (of an output: that may come now and was never promised). Silent:
    one that is taken before and after, with a member that is no longer declared.
    """


def unproven(reason: str) -> Verdict:
    """Nobody knows, for this reason."""
    return Verdict(Impact.UNPROVEN, Confidence.UNPROVEN, reason)


class Form:
    """One reading of a schema, with its validator and its canonical form, each made once."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.rules: Schema = without_hints(schema)

    @cached_property
    def takes(self) -> Callable[[Any], bool]:
        """Whether a value is valid. Raises ValueError where the schema is not."""
        from jsonschema_rs import Draft202012Validator

        # a reference that leads outside is never followed: it is refused before this, and here once more
        return Draft202012Validator(self.rules, offline=True, validate_formats=False).is_valid

    @cached_property
    def canonical(self) -> CanonicalSchema:
        """What the prover makes of it. Raises ValueError."""
        return canonical(self.rules)

    def covers(self, other: Form) -> bool:
        """Whether it is proved that every value of `other` is one of this; False says nothing."""
        return includes(self.rules, other.rules)

    def covers_both(self, one: Form, other: Form) -> bool:
        """The same of every value that is in both of two others."""
        return _is_proved(lambda: self.canonical.covers(one.canonical.intersect(other.canonical)))


def _is_proved(containment: Callable[[], Any]) -> bool:
    """Whether the prover says yes. What it does not support, or fails at, is not proved."""
    from jsonschema_rs.canonical import Containment

    try:
        return bool(containment() == Containment.YES)
    except (ValueError, TypeError):
        return False


class Side:
    """One version of a schema in the three readings that the questions need."""

    def __init__(self, schema: Schema) -> None:
        self._normal = schema

    @cached_property
    def open(self) -> Form:
        """Word for word."""
        return Form(words(self._normal))

    @cached_property
    def declared(self) -> Form:
        """Closed, explicit openness kept: what may be sent on the schema's word."""
        return Form(close(self._normal))

    @cached_property
    def named(self) -> Form:
        """Closed, explicit openness too: what is read by name."""
        return Form(close(self._normal, keep_promises=False))


def side(schema: Any) -> Side | NotEvaluated:
    """One version of a schema, ready for questions, or why none can be asked."""
    normal = normalise(schema)
    if isinstance(normal, NotEvaluated):
        return normal
    made = Side(normal)
    try:
        made.open.takes(None)
    except Dangling:
        return NotEvaluated("a $ref in it leads to no place inside it")
    except (ValueError, TypeError):
        return NotEvaluated("it is not a valid schema")
    return made


def holds(old: Any, new: Any, direction: Direction, impact: Impact, witness: Any) -> bool:
    """Whether a witness shows what it is said to show: taken before and refused now, or taken both times."""
    first, second = (side(old), side(new)) if direction is Direction.INPUT else (side(new), side(old))
    if isinstance(first, NotEvaluated) or isinstance(second, NotEvaluated):
        return False
    loud = impact >= Impact.BREAKING
    return bool(first.open.takes(witness)) and bool(second.open.takes(witness)) is not loud


@dataclass(frozen=True, slots=True)
class Question:
    """Whether a value of some kind exists."""

    source: Schema
    """Where it would be a member."""
    hint: Schema
    """What it would be told from."""
    proves: Test
    is_refuted: Callable[[], bool]
    """Whether it is proved that there is none."""


def decide(old: Side, new: Side, direction: Direction) -> Verdict:
    """The verdict on one pair of versions."""
    if same(old.open.rules, new.open.rules):
        return Verdict(Impact.COSMETIC, Confidence.PROVED, "It takes the same values as before.")
    before, after = (old, new) if direction is Direction.INPUT else (new, old)
    return _loud(before, after, direction) or _silent(old, new) or _equal(old, new)


def _answer(question: Question) -> Any:
    """A witness, ABSENT where it is proved that there is none, or None where nobody knows."""
    tried = candidates(question.source, question.hint)
    found = search(islice(tried, _FIRST), question.proves)
    if found is ABSENT and not question.is_refuted():
        found = search(tried, question.proves)
        return None if found is ABSENT else found
    return found


_FIRST = 60
"""Candidates that are tried before a proof is: a witness that is near costs less than the proof that there is none."""


def _loud(before: Side, after: Side, direction: Direction) -> Verdict | None:
    """The verdict where a declared value of `before` is refused by `after`, or where nobody knows."""

    def proves(value: Any) -> bool:
        return before.declared.takes(value) and before.open.takes(value) and not after.open.takes(value)

    witness = _answer(
        Question(before.declared.schema, after.declared.schema, proves, lambda: after.open.covers(before.declared))
    )
    if witness is None:
        return unproven("Neither a proof nor a counterexample was found.")
    return None if witness is ABSENT else Verdict(Impact.BREAKING, Confidence.WITNESSED, _LOUD[direction], witness)


_LOUD = {
    Direction.INPUT: "This was accepted before and is now rejected.",
    Direction.OUTPUT: "This can be returned now and was never promised.",
}


def _silent(old: Side, new: Side) -> Verdict | None:
    """The verdict where a value is taken by both, but no longer declared whole, or where nobody knows."""

    def proves(value: Any) -> bool:
        is_old = old.named.takes(value) and old.open.takes(value)
        return is_old and new.open.takes(value) and not new.named.takes(value)

    def is_refuted() -> bool:
        is_narrower = new.named.covers(old.named) or Form(skeleton(new.named.rules)).covers(old.named)
        return is_narrower or new.named.covers_both(old.named, new.open)

    witness = _answer(Question(old.named.schema, new.named.schema, proves, is_refuted))
    if witness is None:
        return unproven("Whether every declared member is still declared could not be shown.")
    return None if witness is ABSENT else Verdict(Impact.SILENT, Confidence.WITNESSED, _SILENT, witness)


_SILENT = "This is still accepted, but not all of it is declared any more."


def _equal(old: Side, new: Side) -> Verdict:
    pairs = ((old.open, new.open), (old.named, new.named))
    if all(one.covers(other) and other.covers(one) for one, other in pairs):
        return Verdict(Impact.COSMETIC, Confidence.PROVED, "It takes the same values as before.")
    return Verdict(Impact.COMPATIBLE, Confidence.PROVED, "Everything that was declared before is still accepted.")


@lru_cache(maxsize=64)
def _side(text: str) -> Side | NotEvaluated:
    return side(json.loads(text))


def decided(old: str, new: str, direction: Direction) -> Verdict:
    """The verdict on two schemas given as JSON text; unproven, whatever goes wrong."""
    try:
        before, after = _side(old), _side(new)
        for version, name in ((before, "old"), (after, "new")):
            if isinstance(version, NotEvaluated):
                return unproven(f"The {name} schema is not evaluated: {version.reason}.")
        assert isinstance(before, Side)
        assert isinstance(after, Side)
        return decide(before, after, direction)
    except BaseException as error:
        # the prover's panics derive from BaseException and have a type that cannot be imported
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            return unproven("The judgement failed.")
        raise
