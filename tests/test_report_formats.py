"""The formats for code hosts and build servers: against golden files, against their schemas, and against hostile text.

`cases/formats/whole.json` is a report with every impact, every status, renames, witnesses, and hostile text in every
field. Its golden files `whole.FORMAT` are written anew, to be read before they are committed, by

    GOLDEN=write pytest tests/test_report_formats.py
"""

from __future__ import annotations

import json
import os
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import jsonschema
import pytest
import xmlschema
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_lock import __version__
from mcp_lock.contract import Kind
from mcp_lock.outcome import Change, Impact, Item, Notice, Report, Rule, ServerReport, Status
from mcp_lock.places import Places
from mcp_lock.report import Format, Options, Place, findings, github, json_, render, sarif
from mcp_lock.text import is_hidden
from tests.project import tool
from tests.test_report_terminal import NAMES, report_of

CASES = Path(__file__).parent / "cases" / "formats"
SCHEMAS = CASES / "schemas"
FORMATS = [Format.SARIF, Format.GITHUB, Format.GITLAB, Format.JUNIT]
AT = Options(locate=lambda server, _: Place("a dir/mcp.lock", len(server.name)))
COMMAND = re.compile(r"::(error|warning|notice) ((?:\w+=[^:,\r\n]*)(?:,\w+=[^:,\r\n]*)*)::([^\r\n]*)")
CLEAN = Report((ServerReport("clock", Status.UNCHANGED, unchanged=1, same=(Item(Kind.TOOL, "now"),)),))


def whole():
    return report_of("whole", CASES)


def only(status, *changes, **fields):
    return Report((ServerReport("docs", status, tuple(changes), **fields),))


def a_change(impact, name="search", pointer="/title", rule="title-changed"):
    return Change(Rule(rule, impact, impact, "title changed", "why"), Item(Kind.TOOL, name), pointer, "a", "b", impact)


def run_of(report, options=AT):
    return json.loads(render(report, Format.SARIF, options))["runs"][0]


def commands(report, options=AT):
    """The annotations as GitHub's runner reads them: kind, properties, message."""
    found = []
    for line in render(report, Format.GITHUB, options).splitlines():
        kind, properties, message = COMMAND.fullmatch(line).groups()
        pairs = dict(pair.split("=", 1) for pair in properties.split(","))
        found.append((kind, {key: unquote(value) for key, value in pairs.items()}, unquote(message)))
    return found


def cases_of(report, options=AT):
    """Every case of a JUnit report: suite and name to what became of it."""
    root = ET.fromstring(render(report, Format.JUNIT, options))
    return {
        (suite.get("name"), case.get("name")): next((one.tag for one in case if one.tag != "system-out"), "passed")
        for suite in root
        for case in suite.iter("testcase")
    }


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.value)
def test_each_format_of_the_whole_report_is_its_golden_file(form):
    text = render(whole(), form, AT).replace(f'"{__version__}"', '"VERSION"')
    golden = CASES / f"whole.{form.value}"
    if os.environ.get("GOLDEN") == "write":
        golden.write_text(text, "utf-8", newline="\n")
    assert text == golden.read_text("utf-8")


def test_the_whole_report_has_every_impact_and_every_status():
    report = whole()
    assert {change.impact for server in report.servers for change in server.changes} == {*Impact}
    assert {server.status for server in report.servers} == {*Status}


# SARIF


def sarif_schema():
    return json.loads((SCHEMAS / "sarif-2.1.0-rtm.5.json").read_text("utf-8"))


@pytest.mark.parametrize("name", [*NAMES, "whole"])
def test_sarif_is_as_its_schema_says(name):
    report = whole() if name == "whole" else report_of(name)
    for options in (AT, Options(), replace(AT, verbose=True)):
        document = json.loads(render(report, Format.SARIF, options))
        jsonschema.Draft4Validator(sarif_schema()).validate(document)


def test_sarif_has_what_github_requires_of_every_rule_and_result():
    run = run_of(whole())
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    for rule in rules:
        assert 0 < len(rule["shortDescription"]["text"]) <= 1024
        assert 0 < len(rule["fullDescription"]["text"]) <= 1024
        assert rule["help"]["text"]
        assert rule["help"]["markdown"]
        assert rule["defaultConfiguration"]["level"] in ("error", "warning", "note")
        assert len(rule["properties"]["tags"]) <= 10
        assert 0 < float(rule["properties"]["security-severity"]) <= 10
        assert "security" in rule["properties"]["tags"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert 0 < len(result["message"]["text"]) <= 4000
        (location,) = result["locations"]
        physical = location["physicalLocation"]
        assert physical["artifactLocation"] == {"uri": "a%20dir/mcp.lock", "uriBaseId": "%SRCROOT%"}
        assert physical["region"]["startLine"] >= 1


def test_sarif_has_one_result_for_each_change_under_its_fingerprint():
    changes = [change for server in whole().servers for change in server.changes]
    results = run_of(whole(), replace(AT, verbose=True))["results"]
    told = sorted(one["partialFingerprints"]["mcplock/v1"] for one in results if one["ruleId"] not in findings.RULES)
    assert len(set(told)) == len(changes)
    assert {change.fingerprint for change in changes} <= set(told)


def test_a_rule_that_is_forgiven_has_no_score_and_its_results_are_notes():
    report = only(Status.DRIFTED, a_change(Impact.COSMETIC))
    run = run_of(report, replace(AT, fail_on=Impact.COMPATIBLE))
    (rule,) = run["tool"]["driver"]["rules"]
    assert rule["properties"] == {"tags": ["mcp", "cosmetic"]}
    assert (rule["defaultConfiguration"]["level"], run["results"][0]["level"]) == ("note", "note")


def test_a_server_that_could_not_be_read_is_a_result_and_an_unsuccessful_invocation():
    run = run_of(only(Status.UNREADABLE, error="npx: command not found"))
    (invocation,) = run["invocations"]
    assert not invocation["executionSuccessful"]
    assert [one["level"] for one in invocation["toolExecutionNotifications"]] == ["error"]
    assert [(one["ruleId"], one["level"]) for one in run["results"]] == [("server-unreadable", "error")]


def test_a_clean_report_in_sarif_is_a_successful_run_without_results():
    run = run_of(CLEAN)
    assert (run["results"], run["tool"]["driver"]["rules"]) == ([], [])
    assert run["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]


def test_sarif_never_has_more_results_than_github_takes_and_says_what_is_left_out(monkeypatch):
    assert sarif.MOST == 25_000
    monkeypatch.setattr(sarif, "MOST", 20)
    changes = [a_change(Impact.COSMETIC, f"t{at}") for at in range(22)]
    run = run_of(only(Status.DRIFTED, *changes, a_change(Impact.BREAKING, "worst")), Options())
    assert len(run["results"]) == 20
    assert run["results"][0]["properties"]["impact"] == "breaking"
    assert "3 more findings are left out." in str(run["invocations"])


def test_no_link_of_a_server_is_one_in_sarif():
    assert "](" not in str(run_of(whole()))


# GitHub


def test_every_line_for_github_is_one_command_that_only_mcplock_could_write():
    lines = render(whole(), Format.GITHUB, AT).splitlines()
    assert all(COMMAND.fullmatch(line) for line in lines)
    assert len(lines) == 11
    assert lines[-1].startswith("::notice title=mcplock::")


def test_github_is_told_the_worst_and_how_many_more_there_are():
    changes = [a_change(Impact.COSMETIC, f"t{at}") for at in range(12)]
    report = only(Status.DRIFTED, *changes, a_change(Impact.SECURITY, "worst"))
    found = commands(report)
    assert [kind for kind, _, _ in found] == ["error"] * 10 + ["notice"]
    assert found[0][1]["title"] == "mcplock: security [title-changed]"
    assert found[-1][2].endswith("The 10 worst are annotated; 3 more are not: 3 cosmetic.")


def test_an_annotation_stands_on_its_line_and_names_its_rule():
    kind, properties, message = commands(only(Status.DRIFTED, a_change(Impact.SILENT)))[0]
    assert (kind, properties) == (
        "error",
        {"file": "a dir/mcp.lock", "line": "4", "title": "mcplock: silent [title-changed]"},
    )
    assert message.splitlines() == ["docs: search.title: title changed", "silent: why", "[-a-]{+b+}"]


def test_what_does_not_fail_is_a_warning_and_what_is_immaterial_a_notice_on_demand():
    report = only(Status.DRIFTED, a_change(Impact.COSMETIC), a_change(Impact.IMMATERIAL, pointer="/x"))
    forgiving = replace(AT, fail_on=Impact.SILENT)
    assert [kind for kind, _, _ in commands(report, forgiving)] == ["warning", "notice"]
    assert [kind for kind, _, _ in commands(report, replace(forgiving, verbose=True))] == [
        "warning",
        "notice",
        "notice",
    ]


def test_nothing_to_annotate_is_an_ordinary_line():
    assert render(CLEAN, Format.GITHUB, AT) == "1 server, 1 contract: as locked.\n"
    assert render(CLEAN, Format.GITHUB, replace(AT, quiet=True)) == ""


def test_an_output_that_holds_ascii_alone_gets_it():
    assert render(whole(), Format.GITHUB, replace(AT, unicode=False)).isascii()


def test_what_is_escaped_for_github_comes_back_as_it_was():
    text = "100% %0A a:b,c\r\n::error::x"
    _, properties, message = COMMAND.fullmatch(github.command("error", text, title=text)).groups()
    assert unquote(message) == unquote(properties.removeprefix("title=")) == text


def test_a_file_with_odd_characters_stays_one_property():
    odd = replace(AT, locate=lambda *_: Place("a,line=1::b:100%/mcp.lock", 2))
    assert commands(only(Status.GONE), odd)[0][1]["file"] == "a,line=1::b:100%/mcp.lock"


# GitLab


@pytest.mark.parametrize("name", [*NAMES, "whole"])
def test_code_quality_is_what_gitlab_documents(name):
    report = whole() if name == "whole" else report_of(name)
    schema = json.loads((SCHEMAS / "gitlab-code-quality.json").read_text("utf-8"))
    for options in (AT, Options()):
        jsonschema.Draft202012Validator(schema).validate(json.loads(render(report, Format.GITLAB, options)))


def test_fingerprints_for_gitlab_are_unique_even_of_changes_at_one_place():
    same = a_change(Impact.SILENT)
    report = only(Status.DRIFTED, same, same, same)
    prints = [one["fingerprint"] for one in json.loads(render(report, Format.GITLAB, AT))]
    assert len(set(prints)) == 3
    assert prints[0] == same.fingerprint


def test_the_severity_for_gitlab_follows_the_impact_and_what_is_forgiven_is_info():
    changes = [a_change(impact, pointer=f"/{impact}") for impact in reversed(Impact)]
    said = json.loads(render(only(Status.DRIFTED, *changes), Format.GITLAB, replace(AT, fail_on=Impact.SILENT)))
    assert [one["severity"] for one in said] == ["blocker", "critical", "major", "major", "info", "info"]


def test_a_clean_report_for_gitlab_is_an_empty_list():
    assert json.loads(render(CLEAN, Format.GITLAB, AT)) == []


# JUnit


@pytest.mark.parametrize("name", [*NAMES, "whole"])
def test_junit_is_as_the_schema_of_jenkins_says(name):
    report = whole() if name == "whole" else report_of(name)
    schema = xmlschema.XMLSchema(SCHEMAS / "junit-10.xsd")
    for options in (AT, Options(), replace(AT, verbose=True)):
        schema.validate(render(report, Format.JUNIT, options))


def test_junit_has_a_case_for_every_item_and_every_server():
    said = cases_of(whole())
    assert said[("docs", "list_issues")] == "passed"
    assert said[("docs", "search_docs")] == said[("docs", "(server)")] == "failure"
    assert said[("clock", "prompt greeting")] == said[("clock", "(server)")] == "passed"
    for server, kind in {
        "search": "failure",
        "moody": "failure",
        "fresh": "failure",
        "past": "failure",
        "partly": "error",
        "broken": "error",
        "wrong": "error",
        "attic": "skipped",
    }.items():
        assert said[(server, "(server)")] == kind


def test_the_sums_of_junit_are_what_it_holds():
    root = ET.fromstring(render(whole(), Format.JUNIT, AT))
    for holder in (root, *root):
        for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            if holder.get(attribute) is not None:
                assert int(holder.get(attribute)) == len(list(holder.iter(tag)))
        assert int(holder.get("tests")) == len(list(holder.iter("testcase")))


def test_drift_that_is_forgiven_passes_in_junit_and_is_told():
    text = render(only(Status.DRIFTED, a_change(Impact.COSMETIC)), Format.JUNIT, replace(AT, fail_on=Impact.SILENT))
    assert 'failures="0"' in text
    assert "<system-out>docs: search.title: title changed" in text


def test_a_tool_that_is_called_server_is_another_case_than_the_server_itself():
    report = only(Status.UNCHANGED, same=(Item(Kind.TOOL, "server"),))
    assert len(cases_of(report)) == 2


# all of them


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.value)
def test_a_run_that_checked_nothing_is_told_as_a_failure(form):
    text = render(only(Status.SKIPPED, error="disabled"), form, AT)
    assert "nothing-checked" in text
    assert run_of(only(Status.SKIPPED))["invocations"][0]["executionSuccessful"] is False


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.value)
def test_nothing_hidden_and_no_command_of_a_server_is_in_any_format(form):
    text = render(whole(), form, replace(AT, verbose=True))
    assert not [char for char in text if is_hidden(char) and char != "\n"]
    assert "##[" not in text
    assert "##vso[" not in text
    ours = [line for line in text.splitlines() if line.lstrip().startswith("::")]
    assert len(ours) == (11 if form is Format.GITHUB else 0)


HOSTILE = st.text(
    st.one_of(st.characters(), st.sampled_from("\r\n:%,<>&\"'[](){}#\x1b\u202e\ud800\ufffe")), max_size=30
)


@settings(max_examples=60, deadline=None)
@given(HOSTILE, HOSTILE, HOSTILE)
def test_whatever_a_server_writes_each_format_can_be_read(name, old, new):
    rule = Rule("title-changed", Impact.SILENT, Impact.SILENT, "`{name}` changed", "why")
    sides = (old, new, Impact.SILENT)
    change = Change(rule, Item(Kind.TOOL, name), "/title", *sides, server=name, name=new, witness={old: new})
    same = (Item(Kind.PROMPT, old),)
    notices = (Notice(old, change.item),)
    server = ServerReport(name, Status.DRIFTED, (change,), notices, f"!{new}", flaws=f"!{new}", same=same)
    report = Report((server, ServerReport(old, Status.UNREADABLE, error=new)), (new,))
    assert len(run_of(report)["results"]) == len(json.loads(render(report, Format.GITLAB, AT)))
    assert all(COMMAND.fullmatch(line) for line in render(report, Format.GITHUB, AT).splitlines())
    root = ET.fromstring(render(report, Format.JUNIT, AT))
    assert [case.tag for case in root.iter() if case.tag in ("failure", "error")] == ["error", "failure", "error"]


def test_what_has_just_been_written_fails_nothing_but_what_could_not_be_written_does():
    written = replace(AT, settled=True)
    assert [one.fails for one in findings.findings(only(Status.DRIFTED, a_change(Impact.SECURITY)), written)] == [False]
    for status in (Status.HELD, Status.UNREADABLE):
        assert [one.fails for one in findings.findings(only(status, error="x"), written)] == [True]


@pytest.mark.parametrize("fail_on", [Impact.COSMETIC, Impact.COMPATIBLE, Impact.SILENT])
def test_something_is_told_as_failing_exactly_if_the_run_fails(fail_on):
    options = replace(AT, fail_on=fail_on)
    reports = [only(status, error="x") for status in Status if status not in (Status.UNCHANGED, Status.DRIFTED)]
    reports += [only(Status.DRIFTED, a_change(impact)) for impact in Impact if impact is not Impact.IMMATERIAL]
    for report in [*reports, CLEAN]:
        code = 1 if report.servers[0].status is Status.HELD else report.exit_code(fail_on)
        assert any(one.fails for one in findings.findings(report, options)) == (code != 0), report


def test_json_tells_what_the_other_formats_tell():
    document = json.loads(render(whole(), Format.JSON, AT))
    jsonschema.Draft202012Validator(json_.schema()).validate(document)
    docs = next(server for server in document["servers"] if server["name"] == "docs")
    assert docs["same"] == [{"kind": "tools", "name": "list_issues"}]
    assert docs["fails"]
    assert docs["location"] == {"path": "a dir/mcp.lock", "line": 4}
    assert {change["impact"]: change["fails"] for change in docs["changes"]} == {
        impact.word: impact is not Impact.IMMATERIAL for impact in Impact
    }


# where a finding is shown


def places(root, lock):
    (root / "mcp.lock").write_text(lock, "utf-8")
    return Places(root / "mcp.lock", root)


LOCK = 'version = 1\n\n[servers.docs]\ncommand = "x"\n\n[servers.docs.tools.search]\ndigest = "y"\n'


def test_a_tool_is_shown_at_its_header_in_the_lock_and_another_at_its_server(tmp_path):
    find = places(tmp_path, LOCK)
    server = ServerReport("docs", Status.DRIFTED)
    assert find(server, Item(Kind.TOOL, "search")) == ("mcp.lock", 6)
    assert find(server, Item(Kind.TOOL, "new")) == find(server, Item(None)) == ("mcp.lock", 3)


def test_a_path_is_counted_from_the_top_of_the_git_tree(tmp_path):
    (tmp_path / ".git").mkdir()
    below = tmp_path / "a b" / "c"
    below.mkdir(parents=True)
    assert places(below, LOCK)(ServerReport("docs", Status.GONE), Item(None)) == ("a b/c/mcp.lock", 3)


def test_a_server_that_is_not_locked_is_shown_where_it_is_configured_if_that_is_in_the_tree(tmp_path):
    find = places(tmp_path, LOCK)
    (tmp_path / ".mcp.json").write_text("{}", "utf-8")
    for source, place in (
        ((".mcp.json", 12), (".mcp.json", 12)),
        (("gone.json", 12), ("mcp.lock", 1)),
        (("<stdin>", 3), ("mcp.lock", 1)),
        ((str(Path(__file__)), 3), ("mcp.lock", 1)),
    ):
        assert find(ServerReport("fresh", Status.NOT_LOCKED, source=source), Item(None)) == place


def test_without_a_lock_in_the_tree_there_is_no_place(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    server = ServerReport("docs", Status.DRIFTED)
    assert Places(project / "mcp.lock", project)(server, Item(None)) is None
    (tmp_path / "other.lock").write_text(LOCK, "utf-8")
    assert Places(tmp_path / "other.lock", project)(server, Item(None)) is None


# the command


def test_one_run_writes_every_format_and_the_exit_code_stays(project):
    project.serve("notes", tool("search", "At most 10 results."), tool("get"))
    project.run("lock")
    project.serve("notes", tool("search", "At most 5 results."), tool("get"))
    project.configure("fresh", command="does-not-exist")
    files = [argument for form in FORMATS for argument in ("-o", f"{form.value}:out.{form.value}")]
    result = project.run("verify", "-f", "github", *files)
    assert result.code == 1
    line = project.lock.read_text("utf-8").splitlines().index("[servers.notes.tools.search]") + 1
    fresh, changed, notice = sorted(result.out.splitlines())
    assert f"file=mcp.lock,line={line}," in changed
    assert re.search(r"file=\.mcp\.json,line=\d+,title=mcplock%3A \[server-not-locked\]", fresh)
    assert notice.startswith("::notice")
    assert (project.root / "out.github").read_text("utf-8") == result.out
    root = ET.parse(project.root / "out.junit").getroot()
    assert [case.get("name") for case in root.iter("testcase") if len(case) == 0] == ["(server)", "get"]


def test_what_is_forgiven_is_no_error(project):
    project.serve("notes", tool("search"))
    project.run("lock")
    project.serve("notes", tool("search"), tool("new"))
    result = project.run("verify", "--fail-on", "silent", "-f", "github")
    assert result.code == 0
    assert [line.partition(" ")[0] for line in result.out.splitlines()] == ["::warning", "::notice"]


def test_a_tool_that_could_not_be_read_is_no_passed_case(project):
    project.serve("notes", tool("a"), tool("b"))
    project.run("lock")
    project.serve("notes", tool("a"), {"name": "b", "inputSchema": {"type": "object", "maximum": 1e400}})
    result = project.run("verify", "-f", "junit")
    assert result.code == 3
    assert 'name="a"/>' in result.out
    assert 'name="b"/>' not in result.out
    assert "<error" in result.out


def test_hostile_text_of_a_real_server_is_one_annotation(project):
    project.serve("notes", tool("search"))
    project.run("lock")
    hostile = "One.\n::error file=app.py::owned\r::stop-commands::x %0A::warning::y ##[add-mask]z"
    project.serve("notes", tool("search", hostile), tool("a,b:c%\n::stop-commands::x"))
    result = project.run("verify", "-f", "github", GITHUB_ACTIONS="true")
    assert all(COMMAND.fullmatch(line) for line in result.out.splitlines())
    assert len(result.out.splitlines()) == 3
    assert "##[" not in result.out


def test_every_rule_about_a_server_is_in_the_docs():
    text = (Path(__file__).parent.parent / "docs" / "formats.md").read_text("utf-8")
    assert set(re.findall(r"^\| `((?:server|nothing)-[a-z-]+)` \|", text, re.MULTILINE)) == set(findings.RULES)
