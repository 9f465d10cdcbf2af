"""mcp.lock: what is written comes back, one layout for all, and damage is told with its line."""

from __future__ import annotations

import base64
import json
import os
import re
import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_lock import lockfile
from mcp_lock.canonical import MAX_DEPTH, parse, same
from mcp_lock.contract import Contract, Kind, Surface
from mcp_lock.errors import LockError, LockMissing, Unpinnable
from mcp_lock.launch import LaunchSpec
from mcp_lock.lockfile import Lock, ServerPin
from mcp_lock.lockfile.layout import key_name
from mcp_lock.text import is_hidden

ROOT = Path(__file__).parents[1]
DAMAGED = sorted((Path(__file__).parent / "cases" / "lockfile" / "damaged").glob("*.json"))
BOUNDED = settings(max_examples=120, deadline=None, derandomize=bool(os.environ.get("CI")))


def surface(*definitions: dict[str, Any], kind: Kind = Kind.TOOL, **more: Any) -> Surface:
    return Surface({kind: {item[kind.key]: Contract(kind, item) for item in definitions}}, **more)


def lock(*definitions: dict[str, Any], server: str = "s", kind: Kind = Kind.TOOL, **more: Any) -> Lock:
    return Lock({server: ServerPin(None, surface(*definitions, kind=kind, **more))})


def tool(**fields: Any) -> dict[str, Any]:
    return {"name": "t", **fields}


def back(text: str) -> Lock:
    return lockfile.parse(text.encode(), "mcp.lock")


def assert_same(found: Lock, meant: Lock) -> None:
    """Equal in every name, every definition, every launch spec; numbers equal in value are equal."""
    assert set(found.servers) == set(meant.servers)
    for name, pin in meant.servers.items():
        other = found.servers[name]
        assert other.launch == pin.launch
        for field in ("instructions", "server", "server_version", "protocol"):
            assert getattr(other.surface, field) == getattr(pin.surface, field)
        assert {kind: set(items) for kind, items in other.surface.items.items()} == {
            kind: set(items) for kind, items in pin.surface.items.items()
        }
        for kind, items in pin.surface.items.items():
            for key, contract in items.items():
                assert same(other.surface.items[kind][key].definition, contract.definition)


def checkouts(text: str) -> list[bytes]:
    """The file as git and editors on other systems leave it."""
    crlf = text.replace("\n", "\r\n")
    return [
        text.encode(),
        crlf.encode(),
        f"\ufeff{text}".encode(),
        f"\ufeff{crlf}".encode(),
        text.rstrip("\n").encode(),
    ]


# --- what is written comes back ---------------------------------------------------------------------------------------

TEXT = (
    st.text(st.characters(exclude_categories=()), max_size=8)
    | st.text(st.sampled_from("\r\n\t \"\\'[]=#\xa0\x00\x7f\x85\u2028\u200b\ufe0f\ud83d\U000e0041aé"), max_size=8)
    | st.text("x ", min_size=90, max_size=120)
)
NUMBER = (
    st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([1.0, 1e-7, 2.0**53])
)
KEY = TEXT | st.sampled_from(["$json", "$json:", "", "a", "a.b", '"""', "name", "uri", "digest", "contract", "--help"])
LEAF = st.none() | st.booleans() | NUMBER | TEXT
VALUE = st.recursive(
    LEAF, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEY, inner, max_size=4), max_leaves=15
)


def sendable(value: Any) -> Any:
    """What a server can send: a high and a low surrogate side by side are one character once they went through JSON."""
    return parse(json.dumps(value))


@st.composite
def locks(draw: st.DrawFn) -> Lock:
    names = KEY.map(sendable)
    kind = draw(st.sampled_from(Kind))
    definitions = draw(st.dictionaries(names, st.dictionaries(KEY, VALUE, max_size=3).map(sendable), max_size=2))
    items = {name: Contract(kind, {**fields, kind.key: name}) for name, fields in definitions.items()}
    texts = TEXT.map(sendable)
    launch = draw(
        st.none()
        | st.builds(
            LaunchSpec,
            transport=st.sampled_from(["stdio", "http", "sse", "remote"]),
            command=texts,
            args=st.lists(texts, max_size=3).map(tuple),
            cwd=texts,
            env_file=texts,
            env_file_digest=texts,
            url=texts,
            env=st.dictionaries(names, texts, max_size=2),
            headers=st.dictionaries(names, texts, max_size=2),
        )
    )
    told = {field: draw(texts) for field in ("server", "server_version", "protocol")}
    return Lock({draw(names): ServerPin(launch, Surface({kind: items}, draw(st.none() | texts), **told))})


@BOUNDED
@given(locks())
def test_a_lock_that_is_written_and_read_is_the_same_lock_in_every_checkout(drawn):
    text = lockfile.dumps(drawn)
    for data in checkouts(text):
        found = lockfile.parse(data, "mcp.lock")
        assert_same(found, drawn)
        assert lockfile.dumps(found) == text


@BOUNDED
@given(locks())
def test_no_line_ends_in_a_blank_and_nothing_in_the_file_is_invisible(drawn):
    text = lockfile.dumps(drawn)
    assert [line for line in text.split("\n") if line != line.rstrip()] == []
    assert [char for char in text if is_hidden(char) and char not in "\t\n"] == []
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


@BOUNDED
@given(locks())
def test_the_published_schema_takes_every_lock_that_is_written(drawn):
    assert verdict(lockfile.dumps(drawn))


@pytest.mark.parametrize("wrap", [lambda value: {"a": value}, lambda value: [value], lambda value: [{"a": value}]])
def test_values_as_deep_as_can_be_pinned_come_back(wrap):
    value: Any = "bottom"
    for _ in range((MAX_DEPTH - 1) // (2 if isinstance(wrap(0), list) and wrap(0) != [0] else 1)):
        value = wrap(value)
    deep = lock(tool(value=value))
    assert_same(back(lockfile.dumps(deep)), deep)


# fmt: off
NAMES = [
    "", " lead", 'quo"te', "back\\slash", 'dot."mix', "a.b", "new\nline", "tab\tname", "car\rriage", "NUL\0",
    "📅_today", "名前", "__proto__", "--help", "$json", "$json:", '$json:"a"', "re\u0301sume\u0301", "r\u00e9sum\u00e9",
    "half\ud83d", "\u202eabc", "n" * 300, "n" * 299 + "m", "Craig's notes (test)", "my-server", "my_server", '"""',
    "[x]", "# x", "a = b", "true", "1",
]
# fmt: on


def test_names_hostile_to_toml_and_shells_come_back_code_point_for_code_point():
    items = surface(*({"name": name, "description": "Named oddly."} for name in NAMES))
    odd = Lock({name: ServerPin(LaunchSpec("stdio", env={name: "${A}"}), items) for name in NAMES})
    assert_same(back(lockfile.dumps(odd)), odd)


def test_a_lock_of_no_servers_and_a_server_that_lists_nothing_come_back():
    bare = Surface({}, instructions="")
    for empty in (Lock({}), Lock({"s": ServerPin(None, bare)}), lock(), lock({"name": "only a name"})):
        assert_same(back(lockfile.dumps(empty)), empty)


def test_an_item_filed_under_another_name_keeps_both():
    filed = Lock({"s": ServerPin(None, Surface({Kind.TOOL: {"a": Contract(Kind.TOOL, {"name": "b"})}}))})
    assert_same(back(lockfile.dumps(filed)), filed)


def test_what_has_no_digest_is_not_written(tmp_path):
    path = tmp_path / "mcp.lock"
    with pytest.raises(Unpinnable):
        lockfile.write(path, lock(tool(default=float("nan"))))
    assert not path.exists()


def test_a_long_name_over_many_small_objects_does_not_make_a_lock_of_gigabytes():
    wide = {str(number): {"a": {}} for number in range(4000)}
    name = "n" * 100_000
    for definition in ({"name": name, "properties": wide}, tool(**{name: wide}), tool(**{name: [{"a": 1}] * 4000})):
        bomb = lock(definition)
        text = lockfile.dumps(bomb)
        assert len(text) < 1_000_000
        assert_same(back(text), bomb)


# --- one layout -------------------------------------------------------------------------------------------------------


def test_the_example_at_the_root_is_what_the_code_prints():
    assert (ROOT / "mcp.lock.example").read_bytes() == lockfile.example().encode()


@pytest.mark.parametrize(
    ("value", "spelt"),
    [
        ("plain", 'x = "plain"'),
        ("two\nlines", 'x = """\ntwo\nlines"""'),
        ("blank \nand tab\t\nend ", 'x = """\nblank\\u0020\nand tab\\t\nend """'),
        ("a\u00a0b\u3000\nc\u00a0\n", 'x = """\na\u00a0b\\u3000\nc\\u00a0\n"""'),
        ("a\u200bb\u202ec\U000e0041", 'x = "a\\u200bb\\u202ec\\U000e0041"'),
        ("win\r\n", 'x = { "$json" = "\\"win\\\\r\\\\n\\"" }'),
        ("half \ud83d", 'x = { "$json" = "\\"half \\\\ud83d\\"" }'),
        (None, 'x = { "$json" = "null" }'),
        (1.0, "x = 1"),
        (-0.0, "x = 0"),
        (1e2, "x = 100"),
        (0.0000001, "x = 1e-7"),
        (1.5e300, "x = 1.5e+300"),
        (1e16, "x = 10000000000000000"),
        (2**63 - 1, "x = 9223372036854775807"),
        (2**63, 'x = { "$json" = "9223372036854775808" }'),
        (1e20, 'x = { "$json" = "100000000000000000000" }'),
        (1e21, "x = 1e+21"),
        ([], "x = []"),
        (["a", 1, True], 'x = [\n    "a",\n    1,\n    true,\n]'),
        (["a", None], 'x = { "$json" = "[\\"a\\",null]" }'),
        ([[1.0], []], 'x = { "$json" = "[[1],[]]" }'),
        ([{"b": 1, "a": 2}, 3], 'x = { "$json" = "[{\\"a\\":2,\\"b\\":1},3]" }'),
        ({"$json": 1}, 'x = { "$json" = "{\\"$json\\":1}" }'),
        ({"\r": 1}, 'x = { "$json" = "{\\"\\\\r\\":1}" }'),
    ],
)
def test_a_value_is_spelt_in_one_way(value, spelt):
    assert f"\n[servers.s.tools.t.contract]\n{spelt}\n" in lockfile.dumps(lock(tool(x=value)))


@pytest.mark.parametrize(
    ("value", "spelt"),
    [
        ({}, "\n[P]\n"),
        ({"b": 1, "a": {}, "A": 2}, "\n[P]\nA = 2\nb = 1\n\n[P.a]\n"),
        ({"a": {"b": 1}}, "\n[P.a]\nb = 1\n"),
        ([{"b": 1}, {}], "\n[[P]]\nb = 1\n\n[[P]]\n"),
        ([{"a": {"b": 1}}], "\n[[P]]\n\n[P.a]\nb = 1\n"),
        ([{"$json": 1}, {"a": None}], '\n[[P]]\n"$json" = "{\\"$json\\":1}"\n\n[[P]]\na = { "$json" = "null" }\n'),
        ({"a.b": {"": 1}}, '\n[P."a.b"]\n"" = 1\n'),
    ],
)
def test_a_table_is_spelt_in_one_way(value, spelt):
    text = lockfile.dumps(lock(tool(x=value)))
    assert text.endswith("\n" + spelt.replace("P", "servers.s.tools.t.contract.x"))


def described(text: str) -> dict[str, dict[str, Any]]:
    return {
        "a tool": tool(description=text),
        "a parameter": tool(inputSchema={"properties": {"q": {"type": "string", "description": text}}}),
        "a branch": tool(inputSchema={"anyOf": [{"const": 1}, {"description": text}, {"type": "null"}]}),
        "an enum": tool(inputSchema={"enum": ["one", text, "three"]}),
        "an enum with null": tool(inputSchema={"enum": [None, text]}),
        "an example": tool(inputSchema={"examples": [{"a": text}, 1]}),
        "beside null": tool(inputSchema={"default": None, "title": text}),
        "a text with carriage returns": tool(description=f"{text}\r\nend"),
        "the first line of three": tool(description=f"{text}\n\nmore\n"),
        "the last line of three": tool(description=f"more\n\n{text}"),
    }


def filler(length: int) -> str:
    return ("lorem ipsum " * 30)[:length]


@pytest.mark.parametrize("place", list(described("")))
def test_a_word_changed_at_any_length_is_one_line_of_the_lock_besides_the_digest(place):
    for length in range(301):
        for old_word, new_word in (("five", "ten"), ("a", "considerably more")):
            old, new = (
                lockfile.dumps(lock(described(f"{filler(length)}{word}")[place])).split("\n")
                for word in (old_word, new_word)
            )
            assert len(old) == len(new)
            changed = [line for line, other in zip(old, new, strict=True) if line != other]
            assert len(changed) == 2
            assert changed[0].startswith("digest = ")


def test_keys_in_another_order_and_numbers_in_another_spelling_make_the_same_bytes():
    one = Lock({"a": lock(tool(x=1.0, y=[{"b": 1e2, "a": None}])).servers["s"], "b": ServerPin(None, Surface({}))})
    other = Lock({"b": ServerPin(None, Surface({})), "a": lock(tool(y=[{"a": None, "b": 100}], x=1)).servers["s"]})
    assert lockfile.dumps(one) == lockfile.dumps(other)


# --- damage -----------------------------------------------------------------------------------------------------------


def damaged(path: Path) -> tuple[bytes, dict[str, Any]]:
    """The bytes that a case describes: an edit of the example, or a whole text."""
    case = json.loads(path.read_text("utf-8"))
    if "base64" in case:
        return base64.b64decode(case["base64"]), case
    text = case.get("text", lockfile.example())
    if "edit" in case:
        old, new = case["edit"]
        assert text.count(old) == 1, "the example has changed under this case"
        text = text.replace(old, new)
    if "cut_after" in case:
        text = text[: text.index(case["cut_after"]) + len(case["cut_after"])]
    return (text + case.get("append", "")).encode(), case


@pytest.mark.parametrize("path", DAMAGED, ids=lambda path: path.stem)
def test_damage_is_told_in_one_line_with_its_place_and_what_to_do(path, tmp_path):
    data, case = damaged(path)
    file = tmp_path / "mcp.lock"
    file.write_bytes(data)
    with pytest.raises(LockError) as caught:
        lockfile.read(file)
    assert str(caught.value) == f"{file}:{case['message']}"
    assert not [char for char in str(caught.value) if is_hidden(char)]


def verdict(text: str) -> bool:
    from jsonschema import Draft202012Validator

    return bool(Draft202012Validator(lockfile.schema()).is_valid(tomllib.loads(text)))


def test_the_published_schema_is_a_schema_and_takes_the_example():
    from jsonschema import Draft202012Validator

    Draft202012Validator.check_schema(lockfile.schema())
    assert verdict(lockfile.example())


@pytest.mark.parametrize(
    "path", [path for path in DAMAGED if "schema" in json.loads(path.read_text("utf-8"))], ids=lambda path: path.stem
)
def test_the_published_schema_says_of_the_layout_what_the_reader_says(path):
    data, case = damaged(path)
    assert verdict(data.decode()) is case["schema"]


@pytest.mark.parametrize("byte", range(0, 3800, 97))
def test_a_lock_cut_anywhere_is_an_error_or_a_lock_of_fewer_items_and_never_a_crash(byte):
    whole = back(lockfile.example())
    try:
        found = lockfile.parse(lockfile.example().encode()[:byte], "mcp.lock")
    except LockError:
        return
    for name, pin in found.servers.items():
        for kind, items in pin.surface.items.items():
            assert {key: item.digest for key, item in items.items()}.items() <= {
                key: item.digest for key, item in whole.servers[name].surface.items[kind].items()
            }.items()


def test_conflict_markers_in_a_description_are_nothing_but_text():
    art = lock(tool(description="Banner:\n<<<<<<< HEAD\n=======\n||||||| base\n>>>>>>> main\n========\n======\n"))
    text = lockfile.dumps(art)
    assert_same(back(text), art)
    assert re.findall(r"^.*[<=>|]{6,}.*$", text, re.MULTILINE) == [
        r"\u003c<<<<<< HEAD", r"\u003d======", r"\u007c|||||| base", r"\u003e>>>>>> main", r"\u003d=======", "======",
    ]  # fmt: skip


def test_no_file_is_a_finding_and_says_what_to_run(tmp_path):
    with pytest.raises(LockMissing, match="no such file; run `mcplock lock`") as caught:
        lockfile.read(tmp_path / "mcp.lock")
    assert caught.value.exit_code == 1


def test_a_directory_in_its_place_is_an_error(tmp_path):
    with pytest.raises(LockError, match=":1: a directory stands where the lock should be; remove it"):
        lockfile.read(tmp_path)
    with pytest.raises(LockError, match="not a regular file, so it is not replaced"):
        lockfile.write(tmp_path, Lock({}))
    assert list(tmp_path.iterdir()) == []


def test_a_write_that_fails_says_so_and_leaves_nothing_behind(tmp_path):
    with pytest.raises(LockError, match=r"lock: cannot be written: No such file or directory; nothing was changed"):
        lockfile.write(tmp_path / "missing" / "mcp.lock", Lock({}))
    (tmp_path / "mcp.lock").mkdir()
    with pytest.raises(OSError, match=r"mcp\.lock"):  # the last step of all is the one that fails
        lockfile._replace(tmp_path / "mcp.lock", b"")
    assert [path.name for path in tmp_path.iterdir()] == ["mcp.lock"]


# --- writing ----------------------------------------------------------------------------------------------------------

OLD = lock(tool(description="Line one.\nLine two.\n\n  indented\n"), instructions="Win one.\r\nWin two.\r\n")
NEW = lock(tool(description="Line one.\nLine 2.\n"))


@pytest.mark.parametrize("data", [*checkouts(lockfile.dumps(OLD)), lockfile.dumps(OLD).replace(" = ", "=").encode()])
def test_a_file_that_holds_the_lock_already_is_not_touched_in_whatever_spelling(tmp_path, data):
    path = tmp_path / "mcp.lock"
    path.write_bytes(data)
    os.utime(path, (1, 1))
    before = path.stat()
    assert lockfile.write(path, OLD) is False
    assert path.read_bytes() == data
    after = path.stat()
    assert (after.st_mtime_ns, after.st_ino) == (before.st_mtime_ns, before.st_ino)


@pytest.mark.parametrize("data", [None, lockfile.dumps(OLD).encode(), b"", b"\xff", b"<<<<<<< HEAD\n"])
def test_any_other_file_is_replaced_and_nothing_is_left_beside_it(tmp_path, data):
    path = tmp_path / "mcp.lock"
    if data is not None:
        path.write_bytes(data)
    assert lockfile.write(path, NEW) is True
    assert path.read_bytes() == lockfile.dumps(NEW).encode()
    assert list(tmp_path.iterdir()) == [path]


def test_notes_and_flaws_of_the_moment_do_not_touch_the_file(tmp_path):
    path = tmp_path / "mcp.lock"
    lockfile.write(path, OLD)
    noted = lock(
        tool(description="Line one.\nLine two.\n\n  indented\n"), instructions="Win one.\r\nWin two.\r\n", notes=("x",)
    )
    assert lockfile.write(path, noted) is False


@pytest.mark.skipif(sys.platform == "win32", reason="modes and symlinks are POSIX's")
def test_a_symlink_is_followed_and_the_mode_kept(tmp_path):
    real = tmp_path / "real" / "lock.toml"
    real.parent.mkdir()
    lockfile.write(real, OLD)
    real.chmod(0o640)
    link = tmp_path / "mcp.lock"
    link.symlink_to(Path("real") / "lock.toml")
    assert lockfile.write(link, NEW) is True
    assert link.is_symlink()
    assert real.read_text("utf-8") == lockfile.dumps(NEW)
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert list(real.parent.iterdir()) == [real]


@pytest.mark.skipif(sys.platform == "win32", reason="modes are POSIX's")
def test_a_new_file_has_the_mode_of_any_new_file(tmp_path):
    lockfile.write(tmp_path / "mcp.lock", NEW)
    (tmp_path / "other").touch()
    assert (tmp_path / "mcp.lock").stat().st_mode == (tmp_path / "other").stat().st_mode


KILLED = """
import os, signal, sys
from pathlib import Path
from mcp_lock import lockfile

path, old, new = Path(sys.argv[1]), b"old " * 5000, b"new " * 5000
outcomes = []
for step in range(1000):
    path.write_bytes(old)
    child = os.fork()
    if not child:
        seen = 0
        def count(frame, event, arg):
            global seen
            seen += 1
            if seen > step:
                os.kill(os.getpid(), signal.SIGKILL)
        sys.setprofile(count)
        lockfile._replace(path, new)
        sys.setprofile(None)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    outcomes.append({old: "old", new: "new"}.get(path.read_bytes(), "torn"))
    if os.WIFEXITED(status):
        break
print(*outcomes)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_a_kill_at_any_step_of_writing_leaves_the_old_or_the_new_text(tmp_path):
    child = subprocess.run(
        [sys.executable, "-c", KILLED, tmp_path / "mcp.lock"], capture_output=True, text=True, timeout=60, check=True
    )
    outcomes = child.stdout.split()
    assert len(outcomes) > 20
    assert set(outcomes) == {"old", "new"}
    assert outcomes == sorted(outcomes, reverse=True)


# --- lines ------------------------------------------------------------------------------------------------------------


def line(text: str, number: int) -> str:
    return text.split("\n")[number - 1].rstrip("\r")


@pytest.mark.parametrize("name", NAMES)
def test_the_header_line_of_an_item_is_found_under_any_name(name):
    text = lockfile.dumps(lock(*({"name": other, "description": "x\ny"} for other in NAMES), server=name))
    for content in (text, text.replace("\n", "\r\n")):
        number = lockfile.line_of(content, name, Kind.TOOL, name)
        header = line(content, number)
        ((servers, inner),) = tomllib.loads(header)["servers"].items()
        assert [key_name(servers), *map(key_name, inner["tools"])] == [name, name]
        assert line(content, number + 1).startswith("digest = ")


def test_a_description_that_looks_like_a_header_does_not_mislead():
    fake = "\n\n[servers.s.tools.z]\ndigest = 1\n"
    text = lockfile.dumps(lock({"name": "a", "description": fake}, {"name": "z", "description": "x"}))
    assert text.count("\n[servers.s.tools.z]\n") == 2
    number = lockfile.line_of(text, "s", Kind.TOOL, "z")
    assert line(text, number + 1).startswith('digest = "sha256:')


def test_what_the_lock_does_not_name_is_at_its_server_or_on_the_first_line():
    text = lockfile.example()
    assert line(text, lockfile.line_of(text, "search")) == "[servers.search]"
    assert line(text, lockfile.line_of(text, "search", Kind.TOOL, "new_tool")) == "[servers.search]"
    assert line(text, lockfile.line_of(text, "tickets", Kind.PROMPT, "p")) == "[servers.tickets]"
    assert lockfile.line_of(text, "elsewhere", Kind.TOOL, "t") == 1
    bare = lockfile.dumps(lock(tool(description="x")))
    assert line(bare, lockfile.line_of(bare, "s")) == "[servers.s.tools.t]"
