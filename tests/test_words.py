"""What differs between two texts, in words."""

from __future__ import annotations

import json
import time
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_lock.report.words import Kind, Piece, difference, excerpt, remark

CASES = json.loads((Path(__file__).parent / "cases" / "words.json").read_text("utf-8"))
MARKS = {Kind.SAME: "{}", Kind.OLD: "[-{}-]", Kind.NEW: "{{+{}+}}", Kind.GAP: "…"}
TEXTS = st.text(st.sampled_from("ab .\n漢字é\u0301\u200b"), max_size=40)


def marked(pieces):
    return "".join(MARKS[kind].format(text) for kind, text in pieces)


@pytest.mark.parametrize("case", CASES["difference"], ids=lambda case: case["why"])
def test_a_difference_reads_as_a_person_would_mark_it(case):
    assert marked(difference(case["old"], case["new"])) == case["marked"]


@pytest.mark.parametrize("case", CASES["remark"], ids=lambda case: case["why"])
def test_a_difference_that_cannot_be_seen_is_said(case):
    assert remark(case["old"], case["new"]) == case["remark"]


@given(old=TEXTS, new=TEXTS)
def test_a_difference_holds_both_texts_word_for_word(old, new):
    pieces = difference(old, new)
    assert "".join(text for kind, text in pieces if kind is not Kind.NEW) == old
    assert "".join(text for kind, text in pieces if kind is not Kind.OLD) == new
    assert all(text for _, text in pieces)
    kinds = [kind for kind, _ in pieces]
    assert all(a is not b for a, b in pairwise(kinds))


@given(before=TEXTS, old=TEXTS, new=TEXTS)
def test_an_excerpt_leaves_out_nothing_that_changes(before, old, new):
    pieces = difference(before * 9 + old + before * 9, before * 9 + new + before * 9)
    changed = [piece for piece in pieces if piece.kind in (Kind.OLD, Kind.NEW)]
    assert [piece for piece in excerpt(pieces, 10) if piece.kind in (Kind.OLD, Kind.NEW)] == changed


def test_an_excerpt_of_a_long_text_shows_the_sentence_before_and_after():
    fill = "One fact follows another. " * 200
    pieces = excerpt(difference(f"{fill}The last one. {fill}", f"{fill}Send it on. The last one. {fill}"))
    assert marked(pieces) == "…One fact follows another. {+Send it on. +}The last one.…"


def test_an_excerpt_of_a_text_without_spaces_still_has_context():
    pieces = excerpt([Piece(Kind.SAME, "a" * 999), Piece(Kind.NEW, "b"), Piece(Kind.SAME, "c" * 999)])
    assert marked(pieces) == f"…{'a' * 60}{{+b+}}{'c' * 60}…"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("word " * 6000, "other " * 6000),
        (" ".join(map(str, range(7000))), " ".join(map(str, range(7000, 0, -1)))),
        ("a. " * 3000, "b. " * 2999 + "a. "),
        ("x" * 50_000, "y" * 50_000),
        ("ab " * 250 + "c", "ba " * 250 + "d"),
        (" ".join(str(n * n % 149) for n in range(6000)), " ".join(str(n * n * n % 149) for n in range(6000))),
    ],
    ids=["words", "reversed", "sentences", "one word", "short and alike", "few words, often"],
)
def test_a_text_made_to_be_slow_to_compare_is_not(old, new):
    start = time.process_time()
    difference(old, new)
    assert time.process_time() - start < 2


def test_texts_that_differ_in_very_many_places_are_shown_as_two():
    old = "Top.\n" + "".join(f"n{at}.\n" for at in range(2000))
    new = "Top.\n" + "".join(f"n{at}.\n" if at % 2 else f"m{at}.\n" for at in range(2000))
    assert [kind for kind, _ in difference(old, new)] == [Kind.SAME, Kind.OLD, Kind.NEW, Kind.SAME]
