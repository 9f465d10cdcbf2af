"""The terminal report, against golden files and against whatever a server may write.

A case is `cases/report/NAME.json`: what was found, and in which views to show it. Its golden files `NAME.VIEW.txt` are
written anew, to be read before they are committed, by

    GOLDEN=write pytest tests/test_report_terminal.py
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_lock.canonical import digest
from mcp_lock.contract import Kind
from mcp_lock.outcome import (
    ABSENT,
    Change,
    Confidence,
    Impact,
    Item,
    Notice,
    Report,
    Rule,
    ServerReport,
    Status,
)
from mcp_lock.report import Format, Options, render, told
from mcp_lock.text import is_hidden

CASES = Path(__file__).parent / "cases" / "report"
VIEWS = {
    "60": Options(width=60),
    "80": Options(width=80),
    "200": Options(width=200),
    "colour": Options(width=80, colour=True),
    "ascii": Options(width=80, unicode=False),
    "verbose": Options(width=80, verbose=True),
    "quiet": Options(width=80, quiet=True),
    "written": Options(width=80, accept=False),
}
SGR = re.compile(r"\x1b\[[\d;]*m")


def an_item(said):
    if said is None:
        return Item(None)
    kind, _, name = said.rpartition(": ")
    return Item(Kind(kind or "tools"), name)


def items_of(raw):
    """One item, or the many that `"items": "like_{}", "count": 142` stands for."""
    if "items" in raw:
        return [an_item(raw["items"].format(at)) for at in range(raw["count"])]
    return [an_item(raw["item"])]


def changes_of(raw, server):
    impact = Impact[raw["impact"].upper()]
    rule = Rule(raw["rule"], impact, impact, raw["summary"], raw.get("why", ""))
    sides = (raw.get("old", ABSENT), raw.get("new", ABSENT), impact)
    for item in items_of(raw):
        yield Change(
            rule,
            item,
            raw.get("pointer", ""),
            *sides,
            server=server,
            confidence=Confidence(raw.get("confidence", "heuristic")),
            hits=raw.get("hits", ""),
            witness=raw.get("witness", ABSENT),
            name=raw.get("name", ""),
            to=raw.get("to", ""),
        )


def server_of(raw):
    changes = [change for one in raw.get("changes", []) for change in changes_of(one, raw["name"])]
    live = {change.item for change in changes if change.item.kind and not change.rule.id.endswith("tool-removed")}
    return ServerReport(
        raw["name"],
        Status(raw.get("status", "drifted")),
        tuple(sorted(changes, key=lambda change: -change.impact)),
        tuple(Notice(one["text"], an_item(one["item"])) for one in raw.get("notices", [])),
        raw.get("error", "") or raw.get("flaws", ""),
        {f"{item.kind.value}/{item.name}": digest(item.name) for item in live},
        raw.get("unchanged", len(raw.get("same", []))),
        raw.get("invalid", False),
        tuple(map(an_item, raw.get("same", []))),
        flaws=raw.get("flaws", ""),
    )


def report_of(name, cases=CASES):
    raw = json.loads((cases / f"{name}.json").read_text("utf-8"))
    return Report(tuple(server_of(one) for one in raw["servers"]), tuple(raw.get("notes", ())))


WANTED = [
    (path.stem, view) for path in sorted(CASES.glob("*.json")) for view in json.loads(path.read_text("utf-8"))["views"]
]
NAMES = sorted({name for name, _ in WANTED})


def shown(name, **options):
    return render(report_of(name), Format.TEXT, Options(**options))


@pytest.mark.parametrize(("name", "view"), WANTED)
def test_the_report_is_the_golden_file(name, view):
    text = render(report_of(name), Format.TEXT, VIEWS[view]).replace("\x1b", "␛")
    golden = CASES / f"{name}.{view}.txt"
    if os.environ.get("GOLDEN") == "write":
        golden.write_text(text, "utf-8", newline="\n")
    assert text == golden.read_text("utf-8")


def test_every_golden_file_belongs_to_a_case():
    assert {path.name for path in CASES.glob("*.txt")} == {f"{name}.{view}.txt" for name, view in WANTED}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_colour_changes_no_word_but_the_marks_of_a_difference(name, width):
    marks = re.compile(r"\[-|-\]|\{\+|\+\}|\s+")
    plain, coloured = shown(name, width=width), shown(name, width=width, colour=True)
    assert marks.sub("", SGR.sub("", coloured)) == marks.sub("", plain)
    assert SGR.search(coloured)
    assert not SGR.search(plain)


@pytest.mark.parametrize("name", NAMES)
def test_digests_and_commands_are_whole_at_forty_columns(name):
    report = report_of(name)
    lines = shown(name, width=40).splitlines()
    commands = {f"  {command}" for server in report.servers for command in told.accept(server)}
    assert {line for line in lines if line.startswith("  mcplock lock")} == commands
    for found in re.findall(r"sha256:\w*", "\n".join(lines)):
        assert re.fullmatch(r"sha256:[0-9a-f]{64}", found)


def test_a_tool_name_is_never_broken():
    name = "n" * 150 + " " + "m" * 150
    change = Change(A_RULE, Item(Kind.TOOL, name), "/description", "a", "b", Impact.SILENT)
    text = render(one_change(change), Format.TEXT, Options(width=40))
    assert text.count(name) == 2  # the place, and the command that accepts it


@pytest.mark.parametrize("name", ["everyday", "texts", "proof"])
@pytest.mark.parametrize("width", [60, 80, 200])
def test_only_what_must_not_be_broken_is_longer_than_the_screen(name, width):
    long = [line for line in shown(name, width=width).splitlines() if len(line) > width]
    assert [line for line in long if not line.startswith("  mcplock lock")] == []


def test_five_hundred_new_tools_do_not_print_five_hundred_descriptions():
    text = shown("many")
    assert text.count("\n") < 150
    assert "… and 460 more: 460 compatible (-v shows all)" in text
    assert shown("many", verbose=True).count("[tool-added]") == 500


def test_what_is_left_out_is_never_the_worst():
    changes = [Change(A_RULE, Item(Kind.TOOL, "first"), f"/x{at}", 1, at, Impact.COMPATIBLE) for at in range(60)]
    changes.append(Change(A_RULE, Item(Kind.TOOL, "first"), "/title", "a", "b", Impact.BREAKING))
    changes.append(Change(A_RULE, Item(Kind.TOOL, "last"), "/title", "a", "b", Impact.SILENT))
    text = render(one_change(*changes), Format.TEXT, Options())
    assert "first.title" in text
    assert "last.title" in text
    assert "… and 22 more: 22 compatible (-v shows all)" in text


def test_a_worse_change_of_one_tool_comes_before_a_lesser_one_of_many():
    many = [Change(A_RULE, Item(Kind.TOOL, f"t{at}"), "/title", 1, 2, Impact.SILENT) for at in range(5)]
    worse = [Change(A_RULE, Item(Kind.TOOL, f"t{at}"), "/type", 1, 2, Impact.SECURITY) for at in range(5)]
    alone = Change(A_RULE, Item(Kind.TOOL, "alone"), "/title", "a", "b", Impact.BREAKING)
    text = render(one_change(*worse, *many, alone), Format.TEXT, Options())
    assert text.index("*.type") < text.index("alone.title") < text.index("*.title")


def test_a_quiet_run_without_findings_says_nothing():
    assert shown("clean", quiet=True) == ""


def test_more_than_five_tools_are_accepted_in_one_command():
    changes = [Change(A_RULE, Item(Kind.TOOL, f"t{at}"), "/title", "a", "b", Impact.SILENT) for at in range(6)]
    (command,) = told.accept(one_change(*changes).servers[0])
    assert command.split()[2:8] == [f"docs/t{at}" for at in range(6)]
    assert command.count("--expect sha256:") == 6


def test_a_hostile_tool_name_is_one_word_to_the_shell():
    change = Change(A_RULE, Item(Kind.TOOL, "x; rm -rf $HOME"), "/title", "a", "b", Impact.SILENT)
    (command,) = told.accept(one_change(change).servers[0])
    assert command.startswith("mcplock lock 'docs/x; rm -rf $HOME' --expect ")


def test_a_name_that_cannot_be_copied_is_accepted_by_its_server():
    change = Change(A_RULE, Item(Kind.TOOL, "r\u0435ad_file"), "/title", "a", "b", Impact.SILENT)
    (command,) = told.accept(one_change(change).servers[0])
    assert command.startswith("mcplock lock docs --expect sha256:")


A_RULE = Rule("a-rule", Impact.SILENT, Impact.SILENT, "`{name}` changed", "it may mean something else")


def one_change(*changes, error=""):
    digests = {f"tools/{change.item.name}": digest("x") for change in changes}
    return Report((ServerReport("docs", Status.DRIFTED, changes, error=error, digests=digests),))


def anywhere(text):
    """`text` at every place where a server's text can stand."""
    tool = Item(Kind.TOOL, text)
    schema = {"type": "object", "properties": {text: {"type": text, "enum": [text], "description": text, text: 1}}}
    changes = [
        Change(A_RULE, tool, "/description", "plain", text, Impact.SILENT, name=text),
        Change(A_RULE, tool, "/description", f"one {text} two", f"one two {text}", Impact.SILENT),
        Change(A_RULE, tool, "/title", ABSENT, text, Impact.COSMETIC),
        Change(A_RULE, tool, f"/x{text}", {text: text}, {text: 1}, Impact.SILENT),
        Change(A_RULE, tool, "/inputSchema/enum", [1], [text, {text: text}], Impact.BREAKING, witness={text: text}),
        Change(A_RULE, tool, "/inputSchema/properties/p", ABSENT, schema, Impact.COMPATIBLE),
        Change(
            A_RULE,
            Item(Kind.TOOL, f"new {text}"),
            "",
            ABSENT,
            {"inputSchema": schema, "description": text},
            Impact.SECURITY,
        ),
        Change(A_RULE, Item(Kind.PROMPT, text), "", {"name": text, "description": text}, ABSENT, Impact.BREAKING),
        Change(A_RULE, Item(None), "/instructions", text, ABSENT, Impact.SILENT),
    ]
    notices = (Notice(text, tool),)
    drifted = ServerReport(text, Status.DRIFTED, tuple(changes), notices, text, {})
    states = [ServerReport(text, status, error=text) for status in Status if status is not Status.DRIFTED]
    return Report((drifted, *states), (text,))


HOSTILE = st.one_of(
    st.text(max_size=30),
    st.text(st.sampled_from("[]/:#\\{}\x1b\x9b\r\n\t \u2028\u202e\u200b\U000e0041\xe9\u0430\u6f22a"), max_size=30),
    st.sampled_from(
        ["::error::x", "\n::stop-commands::x", " ::set-output name=a::b", "##[add-mask]x", "[/x] [red", "\ud800"]
    ),
)
OPTIONS = st.builds(
    Options,
    width=st.integers(1, 250),
    colour=st.booleans(),
    quiet=st.booleans(),
    verbose=st.booleans(),
    unicode=st.booleans(),
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=HOSTILE, options=OPTIONS)
def test_whatever_a_server_writes_the_report_is_harmless(text, options):
    output = render(anywhere(text), Format.TEXT, options)
    plain = SGR.sub("", output)
    assert options.colour or plain == output
    assert not [char for char in plain.replace("\ufe0f", "") if char != "\n" and is_hidden(char)]
    assert options.unicode is False or output.encode("utf-8")
    assert options.unicode or output.isascii()
    assert "##[" not in plain
    assert not re.search(r"^\s*::", plain, re.MULTILINE)


@given(text=st.text(st.sampled_from("[]/abred :"), min_size=1, max_size=20))
def test_brackets_are_shown_as_they_are(text):
    change = Change(A_RULE, Item(Kind.TOOL, "t"), "/title", ABSENT, f"<{text}>", Impact.SILENT)
    assert f'"<{text}>"' in render(one_change(change), Format.TEXT, Options(width=110))


def test_an_error_of_a_server_that_looks_like_markup_is_shown_literally():
    report = Report((ServerReport("[red]x", Status.UNREADABLE, error="failed [/INST] at [b + :warning:"),))
    assert render(report, Format.TEXT, Options()).startswith(
        "[red]x: could not be checked: failed [/INST] at [b + :warning:"
    )


def test_a_report_loads_of_rich_what_it_needs_and_nothing_that_reads_markup():
    code = (
        "import sys; from mcp_lock.report import *; from mcp_lock.outcome import *\n"
        "report = Report((ServerReport('docs', Status.UNREADABLE, error='x'),))\n"
        "render(report, Format.TEXT, Options()); print([m for m in sys.modules if m.startswith('rich.s')])\n"
        "render(report, Format.TEXT, Options(colour=True))\n"
        "print([m for m in sys.modules if m in ('rich.markup', 'rich.console', 'rich.emoji', 'rich.text')])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n[]\n"


def test_a_notice_says_of_what_and_where_and_one_on_the_server_comes_with_other_news_alone():
    item = Item(Kind.TOOL, "a")
    notices = (Notice("null is not an array", item, "/inputSchema/required"), Notice("repeats a cursor"))
    drifted = ServerReport("s", Status.DRIFTED, (Change(A_RULE, item, "", ABSENT, {}, Impact.SILENT),), notices)
    text = render(Report((drifted,)), Format.TEXT, Options())
    assert "notice      a /inputSchema/required: null is not an array\n" in text
    assert "notice      repeats a cursor\n" in text
    alone = Report((ServerReport("s", Status.UNCHANGED, notices=notices),))
    assert "notice" not in render(alone, Format.TEXT, Options())


@pytest.mark.parametrize(("name", "said"), [("", '""'), (" lead", '" lead"'), ("a b", "a b")])
def test_a_name_that_could_not_be_seen_whole_is_in_quotes(name, said):
    assert told.said_item(Item(Kind.TOOL, name)) == said


LONG = "x" * 300


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            {"name": "r\u00e9sum\u00e9"},
            {"name": "re\u0301sume\u0301"},
            'name: "r\u00e9sum\u00e9" → "re\\u{301}sume\\u{301}"',
        ),
        ({"description": f"{LONG} ten {LONG}"}, {"description": f"{LONG} five {LONG}"}, "[-ten-]{+five+}"),
        ({"a": [LONG, 1, LONG]}, {"a": [LONG, 2, LONG]}, "a: differs in what is too long to show here"),
    ],
)
def test_the_two_sides_of_a_renamed_tool_never_look_the_same(old, new, said):
    change = Change(A_RULE, Item(Kind.TOOL, "old"), "", old, new, Impact.BREAKING)
    text = render(Report((ServerReport("s", Status.DRIFTED, (change,)),)), Format.TEXT, Options(width=110))
    assert said in text
