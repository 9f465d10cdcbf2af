"""What a change of a schema does to a caller: the door to the prover and to the witness search.

Judges validation alone; what a description, a default or a format says is the rules' business. Every judgement is
bounded: small plain schemas are judged here, all others in a worker that is ended when its time is over. Whatever
cannot be had is unproven, which is an impact of its own and never compatible.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from mcp_lock.canonical import canonical
from mcp_lock.errors import Unpinnable
from mcp_lock.outcome import Confidence, Impact
from mcp_lock.proof import worker
from mcp_lock.proof.bounds import is_light
from mcp_lock.proof.place import edited
from mcp_lock.proof.questions import Direction, Verdict, decided, unproven

if TYPE_CHECKING:
    from collections.abc import Sequence

_SURROGATE = re.compile(rb"(?<!\\)(?:\\\\)*\\ud[89a-f]")
"""A surrogate as `canonical` spells it; the prover's strings cannot hold one."""


def judge(old: Any, new: Any, direction: Direction, seconds: float = worker.SECONDS) -> Verdict:
    """The verdict on a schema that changed from `old` to `new`.

    `seconds` bound only what is not small and plain; they are wall clock, so that a slow machine may answer unproven
    where a fast one proves.
    """
    try:
        old_text, new_text = canonical(old), canonical(new)
    except Unpinnable:
        return unproven("It is too large to be judged, or not plain JSON.")
    if old_text == new_text:
        return Verdict(Impact.COSMETIC, Confidence.PROVED, "It takes the same values as before.")
    if _SURROGATE.search(old_text) or _SURROGATE.search(new_text):
        return unproven("It holds half of a surrogate pair, which is not text.")
    return _judged(old_text.decode(), new_text.decode(), direction, seconds)


def judge_place(
    old: Any, new: Any, pointers: str | Sequence[str], direction: Direction, seconds: float = worker.SECONDS
) -> Verdict:
    """The verdict on the part of a change that lies at `pointers`, as if nothing else had changed.

    Pointers start at the schemas `old` and `new`, not at the tool. Several belong to one change where only together
    they make sense, as the removed and the added name of a renamed property do.
    """
    before, after = edited(old, new, (pointers,) if isinstance(pointers, str) else tuple(pointers))
    return judge(before, after, direction, seconds)


@lru_cache(maxsize=512)
def _judged(old: str, new: str, direction: Direction, seconds: float) -> Verdict:
    if is_light(json.loads(old)) and is_light(json.loads(new)):
        return decided(old, new, direction)
    return worker.ask(old, new, direction, seconds)
