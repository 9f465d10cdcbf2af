"""The JSON report: every fact, readable by other programs, and described by its schema."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from mcp_lock.report import Format, Options, json_, render
from tests.test_report_terminal import report_of

REPORTS = sorted({file.name.partition(".")[0] for file in (Path(__file__).parent / "cases" / "report").glob("*.json")})


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_is_as_its_schema_says(name):
    document = json.loads(render(report_of(name), Format.JSON, Options()))
    jsonschema.Draft202012Validator(json_.schema()).validate(document)


@pytest.mark.parametrize("name", REPORTS)
def test_every_change_of_a_report_is_in_the_document_with_its_values(name):
    report = report_of(name)
    document = json.loads(render(report, Format.JSON, Options()))
    for server, shown in zip(report.servers, document["servers"], strict=True):
        assert [c["fingerprint"] for c in shown["changes"]] == [change.fingerprint for change in server.changes]
        for change, said in zip(server.changes, shown["changes"], strict=True):
            assert (said["pointer"], said.get("old", "absent")) == (
                change.pointer,
                json.loads(json.dumps(change.old, default=lambda _: "absent")),
            )


def test_the_schema_itself_is_valid():
    jsonschema.Draft202012Validator.check_schema(json_.schema())


def test_no_character_of_a_server_reaches_a_terminal_from_the_document():
    for name in REPORTS:
        assert render(report_of(name), Format.JSON, Options()).replace("\n", "").isprintable()


def test_verify_writes_several_formats_in_one_run(project):
    from tests.project import tool

    project.serve("notes", tool("search"))
    project.run("lock")
    result = project.run("verify", "-o", "json:report.json", "-o", "text:report.txt")
    assert (result.code, result.out) == (0, "1 server, 1 contract: as locked.\n")
    assert (project.root / "report.txt").read_text(encoding="utf-8") == result.out
    assert json.loads((project.root / "report.json").read_text(encoding="utf-8"))["worst"] == "immaterial"


def test_a_file_that_cannot_be_written_is_one_line(project):
    from tests.project import tool

    project.serve("notes", tool("search"))
    project.run("lock")
    result = project.run("verify", "-o", "no/such/place.json")
    assert (result.code, result.err) == (
        2,
        "mcplock: --output: no/such/place.json cannot be written: No such file or directory\n",
    )
