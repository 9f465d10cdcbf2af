"""The Markdown report, against golden files, against whatever a server may write, and against any amount of it.

What it becomes on a page is seen by rendering it, with every extension that a forge may have switched on. The golden
files `cases/report/NAME.md` are written anew, to be read before they are committed, by

    GOLDEN=write pytest tests/test_report_markdown.py
"""

from __future__ import annotations

import json
import os
import re
import time
from functools import cache
from html.parser import HTMLParser

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.tasklists import tasklists_plugin

from mcp_lock.contract import Kind
from mcp_lock.outcome import ABSENT, Change, Impact, Item, Notice, Report, ServerReport, Status
from mcp_lock.report import Format, Options, markdown, markup, render, told
from mcp_lock.report.screen import Span
from mcp_lock.report.values import values
from mcp_lock.rules import RULES
from mcp_lock.text import visible
from tests.project import tool
from tests.test_report_terminal import A_RULE, CASES, HOSTILE, NAMES, anywhere, one_change, report_of

TAGS = {
    *(
        "h3",
        "h4",
        "p",
        "br",
        "wbr",
        "b",
        "strong",
        "sub",
        "code",
        "pre",
        "del",
        "ins",
        "details",
        "summary",
        "ul",
        "li",
    ),
    *("table", "thead", "tbody", "tr", "th", "td"),
}
PAGE = {
    "html": True,
    "linkify": True,
    "typographer": False,
}


@cache
def reader(breaks):
    """What makes a page of a report."""
    made = MarkdownIt("gfm-like", {**PAGE, "breaks": breaks})
    return made.use(footnote_plugin).use(tasklists_plugin).use(dollarmath_plugin, double_inline=True)


class Page(HTMLParser):
    """What a report becomes: its tags, its code, and all text that is not code."""

    def __init__(self, source: str, *, breaks: bool = True) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: set[tuple[str, str, str | None]] = set()
        self.codes: list[list[tuple[str, str]]] = []
        self.outside: list[str] = []
        self.feed(reader(breaks).render(source))
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes |= {(tag, *one) for one in attrs}
        self.open += [tag] * (tag not in ("br", "wbr"))
        if tag == "code":
            self.codes.append([])

    def handle_startendtag(self, tag, attrs):
        assert (tag, attrs) == ("br", [])
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "code" in self.open:
            self.codes[-1].append((self.open[-1], data))
        else:
            self.outside.append(data)

    def handle_comment(self, data):
        raise AssertionError(data)

    handle_decl = handle_pi = unknown_decl = handle_comment

    @property
    def code(self) -> list[str]:
        return ["".join(text for _, text in one) for one in self.codes]


ATTRIBUTES = {
    *(("code", "class", f"language-{language}") for language in ("json", "sh")),
    *((cell, "style", "text-align:right") for cell in ("th", "td")),
    ("details", "open", None),
}
# What GitHub and GitLab look for in text that is not code, on the finished page.
REFERENCE = re.compile(r"[@#$~`\[\]<>&*|\\]|\w:\w|:\w|\w/\w|(?=[0-9]*[a-f])[0-9a-f]{7}|www|://", re.IGNORECASE)


def checked(text, *, breaks=True):
    """The page of a report that nothing has got out of."""
    page = Page(text, breaks=breaks)
    assert set(page.tags) <= TAGS
    assert page.attributes <= ATTRIBUTES
    assert page.open == []
    unfenced = re.sub(r"^(```+)[^\n]*\n.*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert not re.search("(?<!<wbr>)&#64;", unfenced)  # else GitHub makes links of addresses of mail
    assert page.tags.count("h3") <= 1
    assert [said for said in page.outside if REFERENCE.search(said)] == []
    return page


def shown(report, **options):
    return render(report, Format.MARKDOWN, Options(**options))


@pytest.mark.parametrize("name", NAMES)
def test_the_report_is_the_golden_file(name):
    text = shown(report_of(name))
    golden = CASES / f"{name}.md"
    if os.environ.get("GOLDEN") == "write":
        golden.write_text(text, "utf-8", newline="\n")
    assert text == golden.read_text("utf-8")


def test_every_golden_file_belongs_to_a_case():
    assert {path.stem for path in CASES.glob("*.md")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("options", [{}, {"verbose": True}, {"quiet": True}, {"accept": False}, {"unicode": False}])
def test_every_report_is_a_page_of_known_tags(name, options):
    text = shown(report_of(name), **options)
    checked(text, breaks=options != {})
    assert options != {"unicode": False} or text.isascii()


@pytest.mark.parametrize("name", NAMES)
def test_every_item_every_rule_and_every_proof_of_a_report_is_told(name):
    report = report_of(name)
    page, source = checked(shown(report)), shown(report)
    for server in report.servers:
        for change in server.drift if "Left out" not in source else ():
            assert change.rule.id in page.code
            assert change.witness is ABSENT or f"{json.dumps(change.witness, ensure_ascii=False)}\n" in page.code
    commands = [command for server in report.servers for command in told.accept(server)]
    assert all(any(command in code.splitlines() for code in page.code) for command in commands)


# ---- text of servers


MARKS = "@#$:/._*`~[]()!<>&|\\\"'-+=^{} \n\t1aw\u6f22"
ATTACKS = [
    *("@octocat", "@org/team", "mail a@b.example", "#123", "org/repo#1", "GH-12", "JIRA-7", "!12", "%3", "&4", "~bug"),
    *("0123456789abcdef0123456789abcdef01234567", "https://e.example/?a=1&b=2", "www.e.example", "e.example", "x@y.z"),
    *("![x](https://e.example/p.png)", "[x](javascript:alert(1))", "[x]: https://e.example", "[^1]", "[^1]: note"),
    *("<img src=x onerror=alert(1)>", "</code></details><script>x</script>", "<!-- x", "<details open>", "&lt;b&gt;"),
    *("# h", "h\n===", "- [ ] task", "1. one", "> [!CAUTION]\n> x", "    indented", "---", "| a | b |\n|--|--|\n| c |"),
    *(
        ":tada:",
        "$x^2$",
        "$$x$$",
        "$`x`$",
        "```\nx\n```",
        "~~~",
        "````json",
        "``x``",
        "**b** __b__ _i_ ~~d~~",
        "\\",
        "a\\",
    ),
    *("line  \nbreak\\\nbreak", "a\n\n\n# b", "</pre>", "<code>", "</code>", "mailto:a@b.example", "[[wiki]]", "==m=="),
    *("{+ i +} [- d -]", "&#64;octocat", "&nbsp;", "\x00\ud800\u202e", "xmpp:a@b.example/x", "ftp://e.example"),
]
ANYTHING = st.one_of(HOSTILE, st.sampled_from(ATTACKS), st.text(st.sampled_from(MARKS), max_size=40))
BUSY = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@cache
def a_plain_page(options, breaks):
    return checked(render(anywhere("plain"), Format.MARKDOWN, options), breaks=breaks)


@BUSY
@given(text=ANYTHING, breaks=st.booleans(), options=st.builds(Options, verbose=st.booleans(), unicode=st.booleans()))
def test_whatever_a_server_writes_nothing_of_it_leaves_its_code(text, breaks, options):
    report = anywhere(text)
    source = render(report, Format.MARKDOWN, options)
    page = checked(source, breaks=breaks)
    plain = a_plain_page(options, breaks)
    assert page.tags.count("h4") == plain.tags.count("h4")
    assert page.tags.count("li") == plain.tags.count("li")
    assert page.tags.count("table") == 1
    assert page.tags.count("details") == len(re.findall("^</details>$", source, re.MULTILINE))
    if options.unicode:
        assert told.named(text)[:60] in "\n".join(page.code)


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_attack_is_found_in_the_source_outside_a_fence(attack):
    source = shown(anywhere(attack))
    lines = re.sub(r"^(`{3,}).*?^\1$", "", source, flags=re.MULTILINE | re.DOTALL).splitlines()
    for line in lines:
        assert not re.search(r"@|:\w|\w\.\w|(?<!&)#\d|[$~`\\\]]|\[(?!=FILE)", line), line


def in_every_place(text):
    """Where code can stand in a report."""
    said = markup.code(text)
    return "\n\n".join(
        [
            f"### {said}",
            f"{said}",
            f"**silent** {said}<br>{said}",
            f"| a | b |\n|---|--:|\n| {said} | {said} |",
            f"- notice: {said}\n- {said}",
            f"<details open>\n<summary><b>silent</b> {said} · {said}</summary>\n\n{said}\n\n</details>",
        ]
    )


@settings(BUSY, max_examples=100)
@given(text=ANYTHING, breaks=st.booleans())
def test_code_shows_the_whole_harmless_text_and_nothing_else(text, breaks):
    page = checked(in_every_place(text).replace("### ", "#### "), breaks=breaks)
    assert page.code == [visible(text.replace("\t", "    "), keep="\n")] * 11
    assert set(re.sub(r"silent|notice: |·|[ab\s]", "", "".join(page.outside))) == set()


@settings(BUSY, max_examples=100)
@given(old=ANYTHING, new=ANYTHING)
def test_both_texts_can_be_read_back_from_their_difference(old, new):
    spans = [Span(old, "old"), Span("x ", ""), Span(new, "new"), Span(old, "old hidden"), Span(new, "new blank")]
    page = checked(markup.dressed(spans))
    sides = {
        side: "".join(text for tag, text in page.codes[0] if tag not in left)
        for side, left in {"old": ("ins",), "new": ("del",)}.items()
    }
    plain_old, plain_new = (visible(text.replace("\t", "    "), keep="\n") for text in (old, new))
    assert sides["old"].replace("\n", "") == f"{plain_old}x {plain_old}".replace("\n", "")
    assert sides["new"].replace("\n", "") == f"x {plain_new}{plain_new}".replace("\n", "")


@BUSY
@given(lines=st.lists(ANYTHING, max_size=4))
def test_a_fence_is_longer_than_any_in_it(lines):
    page = Page(markup.fence(["```", *[line.replace("\n", " ") for line in lines], "`" * 9], "sh"))
    assert page.tags == ["pre", "code"]
    assert page.code[0].count("\n") == len(lines) + 2


def test_a_runner_finds_no_command_in_the_report():
    for attack in ("::error::x", "##[add-mask]x", " ::stop-commands::x"):
        source = shown(anywhere(attack))
        assert not re.search(r"^\s*::|##\[", source, re.MULTILINE)


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.id)
def test_a_name_that_a_server_gave_is_code_in_the_words_of_every_rule(rule):
    change = Change(rule, Item(Kind.TOOL, "t"), "/x", 1, 2, Impact.BREAKING, witness={}, name="` @me #1 `", to="` @u `")
    assert checked(shown(one_change(change)))


def test_a_line_break_of_a_text_is_one_whether_or_not_a_page_hides_its_tag():
    assert markup.code("a\n  b") == "<code>a&#10;<br>  b</code>"


# ---- how much of it


def change(item, at=0, impact=Impact.SILENT, old="a", new="b", server="docs"):
    return Change(A_RULE, Item(Kind.TOOL, item), f"/x{at}", old, new, impact, server=server, name="n" * 9)


def drifted(*changes, name="docs", **more):
    return ServerReport(name, Status.DRIFTED, tuple(sorted(changes, key=lambda one: -one.impact)), **more)


def tools(count, **given):
    return [change(f"tool_{at}", at, list(Impact)[1:][at % 5], **given) for at in range(count)]


WIDE = "\u6f22" * 400
HUGE = {
    "thousands of tools": lambda: [drifted(*tools(6_000))],
    "thousands of tools with long texts": lambda: [drifted(*tools(3_000, old=WIDE, new=f"{WIDE} x"))],
    "a description of a megabyte": lambda: [drifted(change("t", old="x", new="word & * " * 120_000), *tools(20))],
    "two descriptions of a megabyte": lambda: [
        drifted(change("t", old="One. " * 200_000, new="Two. " * 200_000, impact=Impact.SECURITY))
    ],
    "twenty thousand changes of one tool": lambda: [drifted(*[change("t", at) for at in range(20_000)])],
    "changes that are all marks": lambda: [
        drifted(*[change(f"t{at}", at, old="[`|" * at, new="<&@" * at + " " + "* _" * 900) for at in range(500)])
    ],
    "names of a megabyte": lambda: [drifted(change("|" * 1_000_000), change("b"), name="`" * 1_000_000)],
    "thousands of servers": lambda: [drifted(*tools(2, server=f"s{at}"), name=f"s{at}") for at in range(3_000)],
    "thousands of servers that cannot be read": lambda: [
        ServerReport(f"@{WIDE}{at}", status, error="|" * 5_000) for at in range(300) for status in Status
    ],
    "thousands of notices": lambda: [
        drifted(change("t"), notices=tuple(Notice("*" * 999, Item(Kind.TOOL, "t")) for _ in range(9_000)))
    ],
    "a call of a megabyte": lambda: [
        drifted(Change(A_RULE, Item(Kind.TOOL, "t"), "/x", 1, 2, Impact.BREAKING, witness={"a": ["```"] * 200_000}))
    ],
    "the same change in thousands of tools": lambda: [drifted(*[change(f"{WIDE}{at}") for at in range(800)])],
}
LONGEST_RENDER = 20
"""Seconds of this process's own, many times what any of them takes."""


@pytest.mark.parametrize("how", HUGE)
@pytest.mark.parametrize("options", [Options(), Options(verbose=True, unicode=False)], ids=["plain", "ascii"])
def test_the_report_fits_into_a_comment(how, options):
    report = Report(tuple(HUGE[how]()), tuple(["note " * 300] * 500))
    start = time.process_time()
    text = render(report, Format.MARKDOWN, options)
    assert time.process_time() - start < LONGEST_RENDER
    assert len(text.encode()) <= markdown.MOST
    page = checked(text)
    assert how.startswith("thousands of servers that") or page.tags.count("details") >= 1
    assert told_changes(text) == sum(len(server.drift) for server in report.servers)


def told_changes(text):
    """How many changes a report accounts for: those that it shows, and those that it says it has left out."""
    at_large = sum(int(found) for found in re.findall(r"comment:\*\* (\d+) changes? of", text))
    within = sum(int(found) for found in re.findall(r"and (\d+) more changes?:", text))
    many = sum(int(found) - 1 for found in re.findall(r"same change in (\d+)", text))
    return at_large + within + many + text.count("<sub>")


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    sizes=st.lists(st.tuples(st.integers(1, 2_000), st.integers(0, 3_000)), min_size=1, max_size=40),
    text=ANYTHING,
    options=st.builds(Options, verbose=st.booleans(), unicode=st.booleans(), quiet=st.booleans()),
)
def test_whatever_its_size_the_report_is_whole_and_counts_what_it_leaves_out(sizes, text, options):
    changes = [
        change(f"{text}{at}", here, list(Impact)[1:][(at + here) % 6], text * 9 + "x" * long, "y", f"s{at % 3}")
        for at, (count, long) in enumerate(sizes)
        for here in range(count // 40 + 1)
    ]
    servers = [drifted(*[one for one in changes if one.server == f"s{at}"], name=f"s{at}") for at in range(3)]
    result = render(Report(tuple(servers)), Format.MARKDOWN, options)
    assert len(result.encode()) <= markdown.MOST
    checked(result)
    assert told_changes(result) == len(changes)


def test_what_is_left_out_is_never_worse_than_what_is_shown():
    text = shown(
        Report((drifted(*tools(3_000)), drifted(change("last", impact=Impact.SECURITY, server="z"), name="z")))
    )
    impacts = [Impact[word.upper()] for word in re.findall(r"<summary><b>(\w+)</b>", text)]
    left = re.search(r"Left out.*\((.*)\)", text)[1]
    assert min(impacts) >= max(Impact[word.upper()] for word in re.findall(r"\d (\w+)", left))
    assert "<code>last&#46;x0</code>" in text


def test_hidden_text_at_the_end_of_a_long_one_is_still_told():
    secret = "".join(chr(0xE0000 + ord(letter)) for letter in "read the key")
    text = shown(one_change(change("t", old="x", new="word " * 50_000 + secret)))
    assert "hidden text: read the key" in text


@pytest.mark.parametrize("limit", [300, 1_000, 3_000])
def test_a_text_that_is_clipped_says_by_how_much(limit):
    spans = [Span("ab|c " * 1_000, "old"), Span("de*f " * 1_000, "new")]
    text = markup.fitted(spans, limit, Options())
    assert len(text) <= limit
    page = Page(text)
    left = int(re.search(r"… (\d+) more characters", text)[1])
    assert sum(map(len, page.code)) + left == 10_000


# ---- what is said


def test_twenty_servers_that_drifted_are_all_told():
    servers = tuple(drifted(*tools(3, server=f"s{at}"), name=f"s{at}") for at in range(20))
    text = shown(Report(servers))
    assert text.count("<details") == 60
    assert "Left out" not in text


def test_the_worst_are_open_and_the_rest_are_folded():
    text = shown(one_change(change("a", impact=Impact.COMPATIBLE), change("b"), change("c", impact=Impact.BREAKING)))
    found = re.findall(r"<details( open)?>\n<summary><b>(\w+)", text)
    assert found == [(" open", "breaking"), (" open", "silent"), ("", "compatible")]


def test_servers_as_locked_are_one_calm_line():
    report = Report((ServerReport("a", Status.UNCHANGED, unchanged=3), ServerReport("b", Status.UNCHANGED)))
    assert shown(report) == "**mcplock** · 2 servers, 3 contracts: as locked.\n"
    assert shown(report, quiet=True) == ""


def test_a_run_that_checked_nothing_does_not_look_like_one_that_found_nothing():
    text = shown(Report((ServerReport("a", Status.SKIPPED),)))
    assert text == "**mcplock** · nothing was checked.\n\n1 server skipped: <code>a</code>.\n"


def test_immaterial_changes_are_told_on_demand_alone():
    report = Report((ServerReport("a", Status.UNCHANGED, (change("t", impact=Impact.IMMATERIAL),), unchanged=1),))
    assert "<details>" not in shown(report)
    assert "<summary><b>immaterial</b>" in shown(report, verbose=True)


def test_a_table_has_a_row_a_server_where_there_are_several():
    servers = (drifted(change("t"), change("u", 1)), drifted(change("v", impact=Impact.BREAKING), name="other"))
    rows = [line for line in shown(Report(servers)).splitlines() if line.startswith("|")]
    assert rows == [
        "| server | breaking | silent |",
        "|---|--:|--:|",
        "| <code>other</code> | 1 |  |",
        "| <code>docs</code> |  | 2 |",
    ]


def test_what_cannot_be_compared_word_by_word_is_as_in_the_terminal():
    one = change("t", old=10, new=5)
    said = "".join(span.text for spans in values(one, Options(colour=True)) for span in spans)
    assert f"<code>{said}</code>" in shown(one_change(one))


# ---- the summary of a job


@pytest.fixture
def changed(project):
    """A project whose server has changed since it was locked."""
    project.serve("notes", tool("search"))
    project.run("lock")
    project.serve("notes", tool("search", "Does something else."))
    return project


def test_a_summary_goes_to_the_file_named_and_leaves_output_and_exit_code_alone(changed):
    plain = changed.run("verify")
    result = changed.run("verify", "--summary=out.md")
    assert (result.code, result.out, result.err) == (1, plain.out, plain.err)
    written = (changed.root / "out.md").read_text(encoding="utf-8")
    assert written == changed.run("verify", "-f", "markdown").out
    assert written.startswith("### mcplock: silent drift\n")
    assert changed.run("verify", "--exit-zero", "--summary=out.md").code == 0


def test_a_summary_without_a_file_is_added_to_the_one_of_the_job(changed):
    file = changed.root / "step.md"
    file.write_text("# Built", encoding="utf-8")
    result = changed.run("verify", "--summary", "notes", GITHUB_STEP_SUMMARY=str(file))
    assert result.code == 1
    changed.run("diff", "--summary", GITHUB_STEP_SUMMARY=str(file))
    said = file.read_text(encoding="utf-8")
    assert said.startswith("# Built\n\n### mcplock: silent drift\n")
    assert said.count("\n\n### mcplock: silent drift\n") == 2


def test_the_first_summary_of_a_job_begins_its_file(changed):
    file = changed.root / "step.md"
    changed.run("verify", "--summary", GITHUB_STEP_SUMMARY=str(file))
    assert file.read_text(encoding="utf-8").startswith("### mcplock")


def test_what_follows_summary_is_no_file(changed):
    old, file = changed.root / "old.lock", changed.root / "step.md"
    old.write_bytes(changed.lock.read_bytes())
    result = changed.run("diff", "--summary", "old.lock", "mcp.lock", GITHUB_STEP_SUMMARY=str(file))
    assert result.code == 0
    assert old.read_bytes() == changed.lock.read_bytes()
    assert file.read_text(encoding="utf-8") == "**mcplock** · 1 server, 1 contract: as locked.\n"


def test_no_place_for_a_summary_is_said_before_any_server_is_started(project):
    project.configure("gone", command="no-such-command")
    result = project.run("verify", "--summary", GITHUB_STEP_SUMMARY="")
    assert (result.code, result.out) == (2, "")
    assert result.err == (
        "mcplock: --summary: no file is given (--summary=FILE), and GITHUB_STEP_SUMMARY is not set: "
        "only a CI job has it\n"
    )


@pytest.mark.parametrize(
    ("given", "env", "where"),
    [("--summary=no/such/place.md", "", "no/such/place.md"), ("--summary", "no/such/step.md", "no/such/step.md")],
)
def test_a_summary_that_cannot_be_written_is_one_line(changed, given, env, where):
    result = changed.run("verify", given, GITHUB_STEP_SUMMARY=env)
    assert result.code == 2
    assert "1 tool changed" in result.out
    assert result.err.endswith(f"mcplock: --summary: {where} cannot be written: No such file or directory\n")
