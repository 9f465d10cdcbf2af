"""Names fit to be compared by eye."""

from __future__ import annotations

import pytest

from mcp_lock.text import odd_letters, visible_name


@pytest.mark.parametrize(
    "name",
    [
        "read_file",
        "検索",
        "検索_search",
        "поиск",
        "get_файл",
        "αναζήτηση",
        "résumé",
        "größe",
        "Δt",
        "μs",
        "नमस्ते",
        "파일",
        "",
    ],
)
def test_a_name_in_one_script_a_word_stays_as_it_is(name):
    assert visible_name(name) == name


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("r\u0435ad_file", r"r\u{435}ad_file"),
        ("re\u0430d", r"re\u{430}d"),
        ("\u0440\u0430ypal", r"\u{440}\u{430}ypal"),
        ("\u043f\u043eиc\u043a", "\u043f\u043eи\\u{63}\u043a"),
        ("\u039fpen", r"\u{39f}pen"),
        ("\u0445a", r"\u{445}a"),
        ("\uff52ead", r"\u{ff52}ead"),
        ("\U0001d5cbead", r"\u{1d5cb}ead"),
        ("re\u0301sume\u0301", r"re\u{301}sume\u{301}"),
        ("\u212aelvin", r"\u{212a}elvin"),
        ("\u1111\u1161", r"\u{1111}\u{1161}"),
    ],
)
def test_a_letter_that_imitates_another_is_spelt(name, shown):
    assert odd_letters(name) == shown


def test_a_name_shows_hidden_characters_and_odd_letters():
    assert visible_name("a\u00a0b c") == r"a\u{a0}b c"
    assert visible_name("r\u0435ad\u200b") == r"r\u{435}ad\u{200b}"
