"""What a command line starts: whether it is the same program tomorrow, and whether some word of it is a program itself.

Words only: nothing is looked up, so a package that a project has installed beside its config counts as unpinned too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


def unpinned(words: Sequence[str]) -> str:
    """Why the program may be another one tomorrow; empty when it is pinned or nobody can tell."""
    if _base(words[:1]) == "cmd" and [word.lower() for word in words[1:2]] == ["/c"]:
        words = words[2:]
    for runner, judge in _RUNNERS.items():
        if [_base(words[:1]), *words[1 : len(runner)]] == list(runner):
            return judge(words[len(runner) :], " ".join(runner))
    return ""


_INTERPRETERS = re.compile(
    r"(?:ba|da|z|k|fi|c|tc)?sh|busybox|cmd|powershell|pwsh|python[\d.]*|node|deno|bun|perl|ruby|php|lua|osascript|npx|npm"
)
_TAKES_TEXT = re.compile(r"-[a-z]{0,3}[ce]|--(?:eval|call|print)|-command|/[ck]", re.IGNORECASE)
_REMOTE = frozenset({"ssh", "su"})


def runs_text(words: Sequence[str]) -> bool:
    """Whether a word of a command may be text that a shell or an interpreter runs."""
    names = [_base([word]) for word in words]
    started = next((at for at, name in enumerate(names) if _INTERPRETERS.fullmatch(name)), len(words))
    return bool(_REMOTE & set(names)) or any(map(_TAKES_TEXT.fullmatch, words[started + 1 :]))


def _base(words: Sequence[str]) -> str:
    name = re.split(r"[/\\]", words[0])[-1].lower() if words else ""
    return re.sub(r"\.(?:exe|cmd|bat)$", "", name)


_EXACT = re.compile(r"v?[0-9]+\.[0-9]+\.[0-9]+(?:[-+][0-9A-Za-z.+-]*)?")
_COMMIT = re.compile(r"[#@][0-9a-f]{40}(?![0-9a-f])")
_LOCAL = (".", "/", "~", "file:", "${")


def _npm(words: Sequence[str], runner: str) -> str:
    package = _option(words, ("-p", "--package")) or next(_positionals(words, _NPM_VALUES), "")
    if not package.removeprefix("npm:") or package.startswith(_LOCAL) or _COMMIT.search(package):
        return ""
    plain = package.removeprefix("npm:")
    scoped, _, version = plain[1:].partition("@")
    if _EXACT.fullmatch(version):
        return ""
    fix = "name a commit" if ":" in plain else f"write {plain[0]}{scoped}@VERSION"
    return f"{runner} starts {package} without an exact version: {fix}"


def _python(words: Sequence[str], runner: str) -> str:
    package = _option(words, ("--from", "--spec")) or next(_positionals(words, _PYTHON_VALUES), "")
    if not package or package.startswith(_LOCAL) or package.endswith(".whl") or _COMMIT.search(package):
        return ""
    if re.search(r"(?:===?|@)\s*[0-9][0-9A-Za-z.+!-]*$", package):
        return ""
    name = re.split(r"[=<>!~@;\s]", package)[0]
    fix = "name a commit" if "://" in package else f"write {name}==VERSION"
    return f"{runner} starts {package} without an exact version: {fix}"


def _image(words: Sequence[str], runner: str) -> str:
    image = image_of(words)[1]
    if not image or "@sha256:" in image or image.startswith("${"):
        return ""
    return f"{runner} starts {image} without a digest: write {image}@sha256:…"


def image_of(words: Sequence[str]) -> tuple[int, str]:
    """The index of the image among the words after `docker run`, and the image; an empty one when there is none."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if _takes_value(words[at]) else 1
    return (at, words[at]) if at < len(words) else (len(words), "")


def _takes_value(flag: str) -> bool:
    if flag.startswith("--"):
        return "=" not in flag and flag not in _IMAGE_SWITCHES
    return len(flag) == 2 and flag[1] not in "itdPq"


_IMAGE_SWITCHES = frozenset(
    {"--rm", "--init", "--interactive", "--tty", "--detach", "--privileged", "--read-only", "--publish-all", "--quiet"}
    | {"--no-healthcheck", "--oom-kill-disable", "--sig-proxy", "--disable-content-trust"}
)
_NPM_VALUES = frozenset(
    {"-c", "--call", "-w", "--workspace", "--cache", "--registry", "--userconfig", "--prefix", "--loglevel"}
)
_PYTHON_VALUES = frozenset(
    {"--with", "--with-editable", "--with-requirements", "--python", "-p", "--index", "--index-url", "-i", "-c"}
    | {"--default-index", "--extra-index-url", "--directory", "--project", "--env-file", "--cache-dir", "--pip-args"}
    | {"--constraints", "--overrides", "--prerelease", "--resolution"}
)


def _positionals(words: Sequence[str], with_value: frozenset[str]) -> Iterator[str]:
    rest = iter(words)
    for word in rest:
        if word in with_value:
            next(rest, None)
        elif not word.startswith("-"):
            yield word


def _option(words: Sequence[str], names: tuple[str, ...]) -> str:
    """The value of an option of the runner itself; what stands after the package belongs to the program."""
    for at, word in enumerate(words):
        if word in names and at + 1 < len(words):
            return words[at + 1]
        if word.startswith(tuple(f"{name}=" for name in names)):
            return word.partition("=")[2]
        if not word.startswith("-") and (at == 0 or not words[at - 1].startswith("-")):
            break
    return ""


_RUNNERS: Mapping[tuple[str, ...], Callable[[Sequence[str], str], str]] = {
    ("npx",): _npm,
    ("bunx",): _npm,
    ("pnpx",): _npm,
    ("npm", "exec"): _npm,
    ("npm", "x"): _npm,
    ("pnpm", "dlx"): _npm,
    ("yarn", "dlx"): _npm,
    ("bun", "x"): _npm,
    ("uvx",): _python,
    ("uv", "tool", "run"): _python,
    ("pipx", "run"): _python,
    ("docker", "run"): _image,
    ("docker", "container", "run"): _image,
    ("podman", "run"): _image,
    ("nerdctl", "run"): _image,
}
