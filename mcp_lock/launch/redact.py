"""What looks like a secret in a launch spec, and what is left when it is taken out.

Only literals are: a reference `${NAME}` names a secret without telling it. What steers which program runs or where it
connects is never hidden for its name alone, since what is hidden can change unseen.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

REDACTED = "<redacted>"

_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_ANYWHERE = frozenset(
    {"token", "secret", "secrets", "password", "passwd", "passphrase", "passcode", "pwd", "apikey", "credential"}
    | {"credentials", "authorization", "cookie", "bearer", "jwt", "accesskey", "privatekey"}
)
_LAST = frozenset({"auth", "key", "keys", "pass", "pat", "sig", "signature"})
_NO_SECRETS = frozenset(
    {
        "",
        "0",
        "1",
        "true",
        "false",
        "yes",
        "no",
        "on",
        "off",
        "none",
        "null",
        "enabled",
        "disabled",
        "required",
        "optional",
    }
    | {"basic", "bearer", "digest", "oauth", "oauth2", "oidc", "jwt", "iam", "apikey", "api-key", "token", "anonymous"}
)
"""Values that are settings, whatever they are called: `--auth none`, `REQUIRE_AUTH=1`."""
_LAST_IN_URL = frozenset({"code", "k", "sid"})
_COMPOUND = ("token", "secret", "password", "passwd", "apikey", "authorization")
_PLAIN_LAST = frozenset(
    {"file", "path", "command", "cmd", "exec", "script", "program", "helper", "provider", "plugin", "module", "backend"}
    | {"url", "uri", "endpoint", "host", "server", "origin", "issuer", "proxy", "type", "mode", "method"}
)
"""What ends so says what is run or where it connects; a secret in a URL is seen all the same."""
_SWITCH = frozenset({"no", "use", "enable", "disable", "with", "without", "require", "allow", "skip"})
_STEERING = re.compile(
    r"PATH|LD_.*|DYLD_.*|BASH_ENV|.*_PROXY|.*_URL|.*_HOST|.*_CA(?:_.*|CERTS?|FILE|PATH|BUNDLE)?", re.IGNORECASE
)
_STEERING_FAMILY = re.compile(r"(?:PYTHON|NODE_|npm_config_|PIP_|UV_|GIT_).*", re.IGNORECASE)
"""Variables of loaders and package tools; among them are a few that hold a secret and steer nothing."""


def _words(name: str) -> list[str]:
    return [word.lower() for word in _PARTS.findall(name)]


def _is_secret_word(word: str) -> bool:
    return word in _ANYWHERE or word.endswith(_COMPOUND)


def names_secret(name: str) -> bool:
    """Whether what is called so is a secret: a flag, variable or header named like token, password or api-key."""
    words = _words(name)
    return bool(words) and not steers(name) and (words[-1] in _LAST or any(map(_is_secret_word, words)))


def steers(name: str) -> bool:
    """Whether what is called so decides which program runs or where it connects, so that it is never hidden."""
    words = _words(name)
    if _STEERING.fullmatch(name) or (words and words[-1] in _PLAIN_LAST):
        return True
    return bool(_STEERING_FAMILY.fullmatch(name)) and not (words and _is_secret_word(words[-1]))


_SHAPES = re.compile(
    r"""(?x) (?<![A-Za-z0-9])(?:
      gh[pousr]_[A-Za-z0-9]{20,} | github_pat_\w{20,} | glpat-[\w-]{16,}            # GitHub, GitLab
    | sk-[A-Za-z0-9_-]{16,} | [sr]k_(?:live|test)_\w{10,} | gsk_\w{20,} | xai-\w{20,} | pplx-\w{20,} | tvly-[\w-]{16,}
    | hf_[A-Za-z0-9]{20,} | r8_\w{20,} | AIza[\w-]{30,} | ya29\.[\w-]{20,}         # Hugging Face, Replicate, Google
    | (?:AKIA|ASIA)[A-Z0-9]{16} | xox[a-z]-[\w-]{10,} | xapp-[\w-]{10,}            # AWS, Slack
    | npm_[A-Za-z0-9]{30,} | pypi-[\w-]{30,} | dop_v1_\w{20,} | shp(?:at|ca|pa|ss)_\w{20,}
    | sbp_\w{20,} | sb_secret_\w{16,} | ntn_\w{20,} | secret_\w{30,} | lin_api_\w{20,} | fig[du]_[\w-]{20,}
    | ATATT[\w=-]{20,} | SG\.[\w-]{10,}\.[\w-]{10,} | fc-[0-9a-f]{24,} | ctx7sk-[\w-]{16,} | smithery_\w{20,}
    | eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*                                              # JSON Web Tokens
    | -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----[\s\S]*
    )"""
)
"""Tokens whose makers gave them a form of their own."""

_SCHEME = re.compile(r"(?i)(?:bearer|basic|token|digest|negotiate|apikey|api-key)\s+")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}://[^\s\"'<>|]+(?:<redacted>[^\s\"'<>|]*)*")
_AUTHORITY = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)([^/?#]*)")
_MEMBER = re.compile(r"""(\\*["'])([\w. -]+)\1(\s*:\s*)(\\*["'])((?:(?!\4).)*)\4""")
_PAIR = re.compile(r"""(?<![\w.-])([A-Za-z][\w.-]*)(=)("[^"]*"|'[^']*'|[^\s;&"']+)""")
_HEADER = re.compile(r"(\s*)([A-Za-z][\w-]*)(\s*:\s*)(\S.*)", re.DOTALL)
_SPACED = re.compile(r"(?<!\S)(--?)([A-Za-z][\w-]*)(\s+)([^\s-]\S*)")
_ASSIGNED_FLAG = re.compile(r"(--?)([A-Za-z][\w.-]*)=(.*)", re.DOTALL)
_FLAG = re.compile(r"--?([A-Za-z][\w.-]*)")

_SHELL = re.compile(r"[$`\\;|&<>(){}'\"\n\r]")
_QUOTED = re.compile(r"([\"'])(.*)\1", re.DOTALL)
_REFERENCE = re.compile(r"(?<!\$)\$\{([^{}]*?)(:-[^{}]*)?\}")
MARKS = frozenset("\ue000\ue001")
"""Characters that stand for references while a text is worked on, so that no text may hold them."""
_MARK = "\ue000{}\ue001"
_MARKED = re.compile("\ue000([0-9]+)\ue001")


def _flag_names_secret(flag: str) -> bool:
    """Whether the word after this flag is a secret; `--no-auth` takes none."""
    return names_secret(flag) and _words(flag)[0] not in _SWITCH


class Redactor:
    """Takes secrets out of texts, and keeps what it took."""

    def __init__(self) -> None:
        self.removed: dict[str, str] = {}
        """Where each secret stood, and the secret. Never to be shown."""
        self.unclear: list[str] = []
        """Where what was taken out stood among other words, and is more than a shell takes for one word."""
        self._where = ""
        self._text = ""
        """What is worked on; empty where all of it is hidden."""
        self._defaults: list[str] = []
        self._references: list[str] = []

    def command(self, command: str) -> str:
        """A command: the program itself is never hidden, arguments in the same string are."""
        first, blank, rest = command.partition(" ")
        return first + blank + self.text(rest, where="command") if rest else command

    def args(self, args: Sequence[str]) -> Iterator[str]:
        """Arguments, each seen in the light of the flag before it."""
        flag = ""
        for at, arg in enumerate(args):
            where = f"args[{at}]"
            if assigned := _ASSIGNED_FLAG.fullmatch(arg):
                dashes, name, value = assigned.groups()
                yield f"{dashes}{name}={self.text(value, name, where)}"
            else:
                hides = flag and not arg.startswith("-") and (_flag_names_secret(flag) or steers(flag))
                yield self.text(arg, flag if hides else "", where)
            follows = _FLAG.fullmatch(arg)
            flag = follows[1] if follows else ""

    def text(self, text: str, name: str = "", where: str = "") -> str:
        """`text` without what looks like a secret; `name` is what it is called, `where` what it is recorded under."""
        if MARKS & set(text):
            return REDACTED  # nobody writes these, and `config` refuses them
        self._where, self._references, self._defaults = where, [], []
        marked = _REFERENCE.sub(self._mark, text)
        self._text = text
        if names_secret(name) and text.lower() not in _NO_SECRETS:
            self._text = ""
            return self._restored(self._hidden(marked), secret=True)
        return self._restored(self._seen(marked, name), secret=False)

    def _seen(self, text: str, name: str) -> str:
        """`text` under a name that says nothing, or that must not hide anything but what a URL gives away."""
        text = _URL.sub(self._url, text)
        if steers(name):
            return text
        text = _MEMBER.sub(self._member, text)
        text = _PAIR.sub(self._named, text)
        text = _SPACED.sub(self._named_by_flag, text)
        if (header := _HEADER.fullmatch(text)) and names_secret(header[2]):
            text = header[1] + header[2] + header[3] + self._hidden(header[4])
        return _SHAPES.sub(lambda found: self._hidden(found[0]), text)

    def _mark(self, reference: re.Match[str]) -> str:
        self._references.append(reference[1])
        self._defaults.append(reference[2] or "")
        return _MARK.format(len(self._references) - 1)

    def _restored(self, text: str, *, secret: bool) -> str:
        def restored(mark: re.Match[str]) -> str:
            default = self._defaults[int(mark[1])]
            if default:
                plain = default.removeprefix(":-")
                default = ":-" + (self._hidden(plain) if secret else self._seen(plain, ""))
            return f"${{{self._references[int(mark[1])]}{default}}}"

        return _MARKED.sub(restored, text)

    def _hidden(self, text: str) -> str:
        """`text` with its literals hidden: references, the words of an authorization scheme and punctuation stay."""
        scheme = _SCHEME.match(text)
        start = scheme.end() if scheme else 0
        pieces = re.split("(\ue000[0-9]+\ue001)", text[start:])
        return text[:start] + "".join(piece if at % 2 else self._literal(piece) for at, piece in enumerate(pieces))

    def _literal(self, piece: str) -> str:
        if piece == REDACTED or not re.search(r"\w", piece):
            return piece
        if re.search(r"\s", self._text) and _SHELL.search(_QUOTED.sub(r"\2", piece)):
            self.unclear.append(self._where)
        where, count = self._where, 1
        while self.removed.setdefault(where, piece) != piece:
            count += 1
            where = f"{self._where} ({count})"
        return REDACTED

    def _member(self, found: re.Match[str]) -> str:
        quote, name, colon, opening, value = found.groups()
        if not names_secret(name):
            return found[0]
        return f"{quote}{name}{quote}{colon}{opening}{self._hidden(value)}{opening}"

    def _named(self, found: re.Match[str]) -> str:
        return f"{found[1]}{found[2]}{self._hidden(found[3])}" if names_secret(found[1]) else found[0]

    def _named_by_flag(self, found: re.Match[str]) -> str:
        hides = _flag_names_secret(found[2])
        return f"{found[1]}{found[2]}{found[3]}{self._hidden(found[4])}" if hides else found[0]

    def _url(self, found: re.Match[str]) -> str:
        url = found[0]
        start, end = _userinfo(url)
        if end:
            url = url[:start] + self._hidden(url[start:end]) + url[end:]
        head, mark, tail = re.match(r"([^?#]*)([?#]?)(.*)", url, re.DOTALL).groups()  # type: ignore[union-attr]  # matches all
        return head + mark + re.sub(r"[^&?#]+", self._parameter, tail)

    def _parameter(self, found: re.Match[str]) -> str:
        name, equals, value = found[0].partition("=")
        if not equals:
            return self._hidden(name) if _opaque(name) else name
        words = _words(unquote(name))
        hides = names_secret(unquote(name)) or {*words[-1:]} & _LAST_IN_URL or _opaque(value)
        return f"{name}={self._hidden(value)}" if hides else found[0]


def _userinfo(url: str) -> tuple[int, int]:
    """Where the userinfo of a URL begins and ends; no end when there is none.

    A password that holds a slash unescaped ends the authority too early: what is left has a port that is no number.
    """
    authority = _AUTHORITY.match(url)
    if not authority or "@" not in url:
        return 0, 0
    start, text = authority.start(2), authority[2]
    if "@" in text:
        return start, start + text.rindex("@")
    port = text.rpartition(":")[2] if ":" in text else ""
    return (start, url.rindex("@")) if port and not port.isdecimal() else (0, 0)


def _opaque(value: str) -> bool:
    """Whether a value reads like a key rather than like words: long, unbroken, letters and digits mixed."""
    return bool(
        re.fullmatch(r"[A-Za-z0-9_~+=-]{24,}", value)
        and re.search("[A-Za-z]", value)
        and len(re.findall("[0-9]", value)) >= 4
    )
