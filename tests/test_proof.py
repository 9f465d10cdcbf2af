from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcp_lock.outcome import ABSENT, Confidence, Impact
from mcp_lock.proof import Direction, judge, judge_place, worker
from mcp_lock.proof.bounds import is_light
from mcp_lock.proof.place import edited
from tests.test_mutations import assert_shows

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES = sorted((Path(__file__).parent / "cases" / "proof").glob("*.json"))
STRING = {"type": "string"}
INTEGER = {"type": "integer"}


@pytest.fixture(autouse=True)
def _no_worker_is_left() -> Iterator[None]:
    yield
    worker.stop()


def tool(*required: str, **members: Any) -> dict[str, Any]:
    return {"type": "object", "properties": members, "required": list(required)}


def read(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("file", CASES, ids=lambda file: file.stem)
def test_a_change_has_the_impact_that_it_has(file: Path) -> None:
    case = read(file)
    verdict = judge(case["old"], case["new"], Direction(case["direction"]))
    assert verdict.impact.word == case["impact"], (case["why"], verdict)
    assert (verdict.witness is ABSENT) is (verdict.impact not in (Impact.BREAKING, Impact.SILENT))
    assert verdict.reason.isprintable()


@pytest.mark.parametrize("file", CASES, ids=lambda file: file.stem)
def test_a_witness_shows_it_to_two_validators(file: Path) -> None:
    case = read(file)
    verdict = judge(case["old"], case["new"], Direction(case["direction"]))
    # the one validator knows a single dialect here, divides floats and needs hours for some patterns
    is_plain = not any(word in json.dumps(case) for word in ("json-schema.org", "multipleOf", "(a+)+"))
    if verdict.witness is not ABSENT and is_plain:
        assert_shows(case["old"], case["new"], Direction(case["direction"]), verdict)


@pytest.mark.parametrize("file", CASES, ids=lambda file: file.stem)
@pytest.mark.parametrize("direction", Direction)
def test_a_schema_against_itself_is_no_change(file: Path, direction: Direction) -> None:
    for schema in (read(file)["old"], read(file)["new"]):
        verdict = judge(schema, json.loads(json.dumps(schema)), direction)
        assert (verdict.impact, verdict.confidence) == (Impact.COSMETIC, Confidence.PROVED)


OLD = tool("query", query=STRING, limit={**INTEGER, "maximum": 50}, mode={"enum": ["a", "b"]}, gone=STRING)
NEW = tool("query", "key", query=STRING, limit={**INTEGER, "maximum": 20}, mode={"enum": ["a", "b", "c"]}, key=STRING)


@pytest.mark.parametrize(
    ("pointers", "impact", "witness"),
    [
        ("/properties/limit/maximum", Impact.BREAKING, {"limit": 21, "query": "x"}),
        ("/properties/mode/enum", Impact.COMPATIBLE, ABSENT),
        ("/properties/mode/enum/2", Impact.COMPATIBLE, ABSENT),
        ("/properties/gone", Impact.SILENT, {"gone": "x", "query": "x"}),
        ("/properties/key", Impact.COMPATIBLE, ABSENT),
        ("/required", Impact.BREAKING, {"query": "x"}),
        (("/properties/key", "/required"), Impact.BREAKING, {"query": "x"}),
        ("", Impact.BREAKING, {"query": "x"}),
    ],
)
def test_every_change_of_a_tool_has_its_own_impact(pointers: Any, impact: Impact, witness: Any) -> None:
    verdict = judge_place(OLD, NEW, pointers, Direction.INPUT)
    assert verdict.impact is impact
    assert verdict.witness == witness


def test_an_edit_brings_the_definition_that_it_refers_to() -> None:
    old = tool(a=STRING)
    new = {**tool(a={"$ref": "#/$defs/T"}), "$defs": {"T": {"$ref": "#/$defs/U"}, "U": INTEGER}}
    assert judge_place(old, new, "/properties/a", Direction.INPUT).witness == {"a": "x"}
    assert judge_place(old, new, "/$defs", Direction.INPUT).impact is Impact.COSMETIC


def test_a_definition_that_is_still_referred_to_does_not_go() -> None:
    old, new = {**tool(a={"$ref": "#/$defs/T"}), "$defs": {"T": STRING}}, tool(a=STRING)
    assert edited(old, new, ["/$defs"]) == (old, old)
    assert judge_place(old, new, "/properties/a/$ref", Direction.INPUT).impact is Impact.COMPATIBLE


def test_an_edit_is_judged_in_the_new_dialect() -> None:
    draft = {"$schema": "http://json-schema.org/draft-07/schema#"}
    old = {**draft, **tool(p={"type": "array"})}
    new = tool(p={"type": "array", "prefixItems": [STRING]}, q=STRING)
    assert judge_place(old, new, "/properties/p/prefixItems", Direction.INPUT).impact is Impact.BREAKING
    assert judge_place(old, new, "/$schema", Direction.INPUT).impact is Impact.COSMETIC


def test_several_items_of_a_list_go_at_once() -> None:
    before, after = edited({"enum": [0, 1, 2, 3]}, {"enum": [0]}, ["/enum/1", "/enum/2", "/enum/3"])
    assert (before, after) == ({"enum": [0, 1, 2, 3]}, {"enum": [0]})


def test_a_place_that_neither_has_is_no_change() -> None:
    assert judge_place(OLD, NEW, "/properties/nowhere/maximum", Direction.INPUT).impact is Impact.COSMETIC


class Listener:
    """A listener on the loopback that counts who comes."""

    def __init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.came = 0
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            self.came += 1
            client.close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    found = Listener()
    yield found
    found.socket.shutdown(socket.SHUT_RDWR)
    found.socket.close()
    found.thread.join(5)


@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef", "$schema", "$id", "$recursiveRef"])
def test_nothing_that_a_schema_names_is_fetched(listener: Listener, keyword: str) -> None:
    url = f"http://127.0.0.1:{listener.port}/schema.json"
    for new in ({**tool(a=STRING), keyword: url}, tool(a={keyword: url}), tool(a={"anyOf": [{keyword: url}, INTEGER]})):
        judge(tool(a=STRING), new, Direction.INPUT)
        judge(new, tool(a=INTEGER), Direction.OUTPUT)
    with socket.create_connection(("127.0.0.1", listener.port), timeout=5):
        pass
    listener.socket.settimeout(5)
    deadline = time.monotonic() + 5
    while listener.came == 0 and time.monotonic() < deadline:
        threading.Event().wait(0.01)
    assert listener.came == 1


def test_a_file_that_a_schema_names_is_not_read(tmp_path: Path) -> None:
    pipe = tmp_path / "schema.json"
    os.mkfifo(pipe)  # whoever opens it for reading waits for ever
    verdict = judge(tool(a=STRING), tool(a={"$ref": pipe.as_uri()}), Direction.INPUT)
    assert verdict.impact is Impact.UNPROVEN
    assert "$ref" in verdict.reason


def crossing() -> dict[str, Any]:
    """A schema with three ways through each of its twenty parts."""
    members = [[f"p{part}{way}" for way in range(3)] for part in range(20)]
    return {
        "type": "object",
        "allOf": [
            {"anyOf": [{"properties": {name: {"const": 1}}, "required": [name]} for name in names]} for names in members
        ],
    }


def test_a_judgement_that_takes_too_long_is_ended_and_unproven() -> None:
    assert not is_light(crossing())
    began = time.monotonic()
    verdict = judge(crossing(), {**crossing(), "maxProperties": 99}, Direction.INPUT, seconds=0.3)
    assert verdict.impact is Impact.UNPROVEN
    assert "time" in verdict.reason
    assert time.monotonic() - began < 20


def heavy(**members: Any) -> dict[str, Any]:
    """A schema that is judged in the worker, and quickly."""
    return tool(**members, big={"enum": ["x"], "pattern": "x" * 400})


def test_the_worker_answers_as_this_process_does() -> None:
    for old, new in ((OLD, NEW), (tool(a=STRING), tool()), (tool(a=STRING), tool(a=STRING, b=INTEGER))):
        here = judge(old, new, Direction.INPUT)
        assert worker.ask(json.dumps(old), json.dumps(new), Direction.INPUT) == here


def test_a_worker_that_is_lost_is_replaced() -> None:
    assert judge(heavy(a=STRING), heavy(), Direction.INPUT).impact is Impact.SILENT
    process = worker._WORKER.process
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    process.wait(10)
    assert judge(heavy(b=STRING), heavy(), Direction.INPUT).impact is Impact.UNPROVEN
    assert judge(heavy(c=STRING), heavy(), Direction.INPUT).impact is Impact.SILENT


def test_the_worker_gets_nothing_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_SECRET", "hunter2")
    assert "hunter2" not in str(worker._environment())


def test_small_plain_schemas_start_no_worker() -> None:
    judge(OLD, NEW, Direction.INPUT)
    assert worker._WORKER.process is None


def nested(depth: int, keyword: str) -> Any:
    schema: Any = STRING
    for _ in range(depth):
        schema = {keyword: [schema] if keyword == "allOf" else schema}
    return schema


@pytest.mark.parametrize("keyword", ["not", "items", "allOf", "additionalProperties"])
@pytest.mark.parametrize("depth", [30, 60, 5000])
def test_depth_is_no_way_to_crash_it(keyword: str, depth: int) -> None:
    old, new = nested(depth, keyword), {**nested(depth, keyword), "maxProperties": 3}
    assert judge(old, new, Direction.INPUT).impact in Impact


BOMB = {f"d{at}": {"allOf": [{"$ref": f"#/$defs/d{at + 1}"}] * 2} for at in range(30)}


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}]},
        {"anyOf": [STRING, {"$ref": "#"}]},
        {"not": {"$ref": "#"}},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
        {"$ref": "#/$defs/d0", "$defs": {**BOMB, "d30": STRING}},
        {"pattern": "^(a{1,1000}){1,1000}$"},
        {"pattern": "(" * 2000},
        {"required": "query"},
        {"properties": []},
        {"enum": {}},
        {"allOf": {}},
        {"$ref": 7},
        {"$defs": 7, "$ref": "#/$defs/x"},
        {"items": {"$ref": "#/enum/0"}, "enum": [7]},
        {"multipleOf": 0},
        {"minLength": -1},
        {"minItems": 1e300},
        {"maximum": 10**400},
        {"dependentSchemas": {"a": 7}},
    ],
)
def test_a_hostile_schema_is_judged_or_unproven_and_never_compatible_by_accident(schema: Any) -> None:
    for old, new in ((tool(a=STRING), tool(a=schema)), (tool(a=schema), tool(a=STRING)), (schema, tool(a=STRING))):
        for direction in Direction:
            verdict = judge(old, new, direction)
            assert verdict.impact in Impact
            assert verdict.impact >= Impact.UNPROVEN or verdict.confidence is not Confidence.UNPROVEN


@pytest.mark.parametrize("schema", [None, [], "x", 7, {"enum": [float("nan")]}, {"const": float("inf")}])
def test_what_is_no_schema_is_unproven(schema: Any) -> None:
    assert judge(schema, tool(a=STRING), Direction.INPUT).impact is Impact.UNPROVEN
    assert judge(tool(a=STRING), schema, Direction.INPUT).impact is Impact.UNPROVEN


def test_importing_the_prover_waits_until_something_is_judged() -> None:
    code = "import sys; import mcp_lock.proof; print('jsonschema_rs' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "False"
