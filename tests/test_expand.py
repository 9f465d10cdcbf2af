"""Variables in every dialect: one pass, nothing unset, nothing run, and one neutral template."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_lock.config.clients import ANY, CLIENTS
from mcp_lock.config.expand import Dialect, Expanded, Values, answer_name, expand

DIALECTS = {client.name: client.dialect for client in (*CLIENTS, ANY)}
VALUES = Values(
    {"V": "value", "OTHER": "${V}", "EMPTY": "", "HOME": "/home/me", "MCPLOCK_INPUT_MY_ID": "answer"},
    Path("/project"),
    Path("/project/.client"),
)

CASES = [
    # client, text, value, template
    ("claude-code", "a ${V} b", "a value b", "a ${V} b"),
    ("claude-code", "${V}${V}", "valuevalue", "${V}${V}"),
    ("claude-code", "${NOT:-d e}", "d e", "${NOT:-d e}"),
    ("claude-code", "${NOT:-}", "", "${NOT:-}"),
    ("claude-code", "${EMPTY:-d}", "d", "${EMPTY:-d}"),
    ("claude-code", "${V:-d}", "value", "${V:-d}"),
    ("claude-code", "${OTHER}", "${V}", "${OTHER}"),
    ("claude-code", "$V %V% ~/x $(V) {env:V}", "$V %V% ~/x $(V) {env:V}", "$V %V% ~/x $(V) {env:V}"),
    ("claude-code", "cost is $5 and ${", "cost is $5 and ${", "cost is $5 and ${"),
    ("claude-code", "${CLAUDE_PROJECT_DIR}/x", "/project/x", "${workspaceFolder}/x"),
    ("claude-code", "${input:my-id}", "answer", "${input:my-id}"),
    ("vscode", "${env:V} ${V}", "value ${V}", "${V} $${V}"),
    (
        "vscode",
        "${workspaceFolder}${/}${workspaceFolderBasename}",
        "/project/project",
        "${workspaceFolder}${/}${workspaceFolderBasename}",
    ),
    ("vscode", "${userHome}${pathSeparator}x", "/home/me/x", "${userHome}${/}x"),
    ("vscode", "${input:my-id}", "answer", "${input:my-id}"),
    ("cursor", "${env:V}", "value", "${V}"),
    ("codex", "${V} $V ${env:V}", "${V} $V ${env:V}", "$${V} $V $${env:V}"),
    ("gemini-cli", "$V-$V2 ${V} $5", None, "${V}-${V2} ${V} $5"),
    ("gemini-cli", "$V/x ${NOT:-d}", "value/x d", "${V}/x ${NOT:-d}"),
    ("opencode", "{env:V} ${V}", "value ${V}", "${V} $${V}"),
    ("file", "${V} ${env:V} $V", "value value $V", "${V} ${V} $V"),
]


@pytest.mark.parametrize(("client", "text", "value", "template"), CASES)
def test_a_dialect_expands_its_own_forms_and_no_other(client: str, text: str, value: str | None, template: str) -> None:
    result = expand(text, DIALECTS[client], VALUES)
    assert result.template == template
    assert value is None or (result.value, result.missing) == (value, ())


@pytest.mark.parametrize(
    ("client", "text", "missing"),
    [
        ("claude-code", "${NOT} ${NOT} ${EMPTY}", ("variable NOT is not set", "variable EMPTY is empty")),
        ("claude-code", "${workspaceFolder}", ("variable workspaceFolder is not set",)),
        ("claude-code", "${env:V}", ("variable env:V is not set",)),
        ("claude-code", "${A:-${B}}", ("the default of variable A holds another variable",)),
        ("claude-code", "${input:other one}", ("input other one has no answer: set MCPLOCK_INPUT_OTHER_ONE",)),
        ("vscode", "${env:NOT}", ("variable NOT is not set",)),
        (
            "vscode",
            "${config:a.b} ${command:run}",
            ("only the client itself can answer ${config:a.b}", "only the client itself can answer ${command:run}"),
        ),
        ("gemini-cli", "$NOT", ("variable NOT is not set",)),
        ("opencode", "{env:NOT}", ("variable NOT is not set",)),
        ("opencode", "{file:./not-there}", ("file ./not-there cannot be read",)),
    ],
)
def test_what_has_no_value_is_told_and_never_left_or_emptied(client: str, text: str, missing: tuple[str, ...]) -> None:
    assert expand(text, DIALECTS[client], VALUES).missing == missing


def test_the_home_directory_is_missing_without_its_variable() -> None:
    result = expand("${userHome}", DIALECTS["vscode"], Values({}, Path("/p"), Path("/p")))
    assert result.missing == ("userHome is not known: HOME is not set",)


def test_a_file_is_read_beside_the_config_and_trimmed(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(" value\n")
    (tmp_path / "empty").write_text("\n")
    values = Values({"HOME": str(tmp_path)}, tmp_path, tmp_path)
    found = expand("Bearer {file:./token}{file:~/token}", DIALECTS["opencode"], values)
    assert (found.value, found.template) == ("Bearer valuevalue", "Bearer ${file:./token}${file:~/token}")
    assert found.used == {"file:./token": "value", "file:~/token": "value"}
    assert expand("{file:empty}", DIALECTS["opencode"], values).missing == ("file empty is empty",)


@pytest.mark.parametrize(
    ("client", "text", "kinds"),
    [
        ("codex", "${V}", ("${NAME}",)),
        ("claude-code", "$VAR", ("$NAME",)),
        ("claude-code", "%APPDATA%", ("%NAME%",)),
        ("claude-code", "{env:V}", ("{env:NAME}",)),
        ("claude-code", "$(get-token)", ("$(…)",)),
        ("claude-code", "cost is $5 and ${ and 5% or 6%", ()),
        ("claude-code", "${V}", ()),
    ],
)
def test_the_forms_of_other_clients_are_noticed(client: str, text: str, kinds: tuple[str, ...]) -> None:
    assert expand(text, DIALECTS[client], VALUES).literal == kinds


def test_only_values_from_outside_count_as_used() -> None:
    text = "${V} ${NOT:-default} ${workspaceFolder} ${input:my-id}"
    assert expand(text, ANY.dialect, VALUES).used == {"V": "value", "input:my-id": "answer"}


def test_values_are_not_in_the_representation() -> None:
    shown = repr(expand("${V}", ANY.dialect, VALUES)) + repr(VALUES)
    assert "value'" not in shown
    assert "answer" not in shown


def test_the_answer_to_an_input_has_a_name_that_every_shell_takes() -> None:
    assert answer_name("my-id.2") == "MCPLOCK_INPUT_MY_ID_2"


@given(st.text(st.sampled_from("${}:-envVfil/()%~ Aé"), max_size=30), st.sampled_from(sorted(DIALECTS)))
def test_any_text_expands_in_one_pass(text: str, client: str) -> None:
    result = expand(text, DIALECTS[client], VALUES)
    assert result.value or not text or result.missing or result.used or ":-" in text
    if not DIALECTS[client].forms:
        assert result.value == text


@given(st.text(st.sampled_from("${}:-V a"), max_size=20))
def test_a_literal_and_a_variable_never_share_a_template(text: str) -> None:
    literal = expand(text, Dialect(()), VALUES)
    braces = expand(text, DIALECTS["claude-code"], VALUES)
    if braces.used or braces.missing:
        assert braces.template != literal.template


def test_nothing_expands_to_nothing() -> None:
    assert expand("", ANY.dialect, VALUES) == Expanded("", "")
