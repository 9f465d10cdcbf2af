"""Logging in to remote servers: a real authorization server on loopback, the real command, and nothing secret anywhere.

The browser is an HTTP client that opens the page that the command prints. `Person` runs every command, and checks after
each that no secret which the authorization server ever gave out is in what the command said or wrote, the store aside.
"""

from __future__ import annotations

import json
import os
import re
import socket
import stat
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import anyio
import keyring
import keyring.core
import pytest

from mcp_lock import lockfile
from mcp_lock.config import HttpServer
from mcp_lock.errors import ConnectError, UsageError
from mcp_lock.oauth import Login, is_loopback, is_private, login_in, origin_of, resource_of
from mcp_lock.oauth.store import Place, Store
from tests.forked import LOGIN, Forked
from tests.guarded import Client
from tests.project import LONGEST_RUN, MCPLOCK, Project, Result, tool
from tests.servers.authorizing import MACHINE, Authorizing, authorizing
from tests.servers.plain_http import Script

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
DISCOVERY = ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server"]
PAGE = "open this page in a browser: "
IN_FILE = "in {state}/mcplock/logins/{id}.token"


class Person:
    """Somebody with a project, a home and a browser."""

    def __init__(self, root: Path, server: Authorizing) -> None:
        self.project = Project(root / "project")
        self.project.root.mkdir()
        self.state = root / "state"
        self.server = server
        self.env = {
            "XDG_STATE_HOME": str(self.state),
            "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
            "PYTHONPATH": str(ROOT),
            "RING": str(root / "ring.json"),
            "BROWSER": "",
            "DISPLAY": "",
            "CI": "",
        }
        self.project.configure("notes", type="http", url=f"{server.origin}/mcp")

    @property
    def ring(self) -> Path:
        return Path(self.env["RING"])

    def use_ring(self, name: str) -> None:
        self.env["PYTHON_KEYRING_BACKEND"] = f"tests.servers.ring.{name}"

    def run(self, *args: str, **env: str) -> Result:
        return self.checked(self.project.run(*args, **{**self.env, **env}))

    def checked(self, result: Result) -> Result:
        wrote = "".join(path.read_text(encoding="utf-8") for path in self.project.root.iterdir() if path.is_file())
        logs = "".join(path.read_text(encoding="utf-8") for path in self.state.rglob("*.log"))
        index = "".join(path.read_text(encoding="utf-8") for path in self.state.rglob("*.json"))
        shown = result.out + result.err + wrote + logs + index
        assert [secret for secret in (*self.server.given, MACHINE[1]) if secret in shown] == []
        return result

    def start(self, *args: str, stdin: int = subprocess.DEVNULL, **env: str) -> Forked:
        """A run of the command that has the SDK loaded: loading it takes seconds."""
        pipes = {"stdin": stdin, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        env = {**os.environ, **self.env, **env}
        return Forked(args, cwd=self.project.root, env=env, modules=LOGIN, seconds=LONGEST_RUN, **pipes)

    def anew(self, *args: str) -> subprocess.Popen:
        """The same in an interpreter of its own, for what a fork could hide."""
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen([*MCPLOCK, *args], cwd=self.project.root, env={**os.environ, **self.env}, **pipes)

    def login(self, *args: str, name: str = "notes", **env: str) -> Result:
        """Log in, going to whatever page is printed."""
        return self.browsed(self.start("login", name, *args, **env))

    def browsed(self, process: Forked | subprocess.Popen) -> Result:
        """What comes of a run whose page is gone to, if it prints one."""
        with process:
            end = threading.Timer(LONGEST_RUN, process.kill)
            end.start()
            said = []
            for line in map(bytes.decode, process.stderr):
                said.append(line)
                if PAGE in line:
                    self.page = browse(line.split()[-1])
            out = process.stdout.read().decode()
            end.cancel()
        return self.checked(Result(process.returncode, out, "".join(said)))

    def be_logged_in(self, **other: Any) -> None:
        """As after `login`, without the seconds that it takes."""
        server = self.server
        server.clients["client-1"] = {"client_id": "client-1", "redirect_uris": []}
        access, refresh = server.secret("access"), server.secret("refresh")
        server.living[access], server.renewing = time.time() + 3600, {refresh}
        facts = {
            "resource": f"{server.origin}/mcp",
            "audience": f"{server.origin}/mcp",
            "issuer": server.origin,
            "token_endpoint": f"{server.origin}/token",
            "revocation_endpoint": f"{server.origin}/revoke",
            "client_id": "client-1",
            "client_secret": "",
            "client_auth": "none",
            "grant": "authorization_code",
            "scope": "read",
            "access_token": access,
            "refresh_token": refresh,
            "expires_at": time.time() + 3600,
        }
        self.keep(Login(**{**facts, **other}))

    def keep(self, login: Login) -> Place:
        keyring.set_keyring(keyring.core.load_keyring(self.env["PYTHON_KEYRING_BACKEND"]))
        return Store({"XDG_STATE_HOME": str(self.state)}, print).write(login)

    def stored(self) -> Login:
        return login_in(self.token_file().read_text(encoding="utf-8"))

    def token_file(self) -> Path:
        (path,) = self.state.rglob("*.token")
        return path

    def end_now(self) -> None:
        """The clock says that the token ends in a moment."""
        login = json.loads(self.stored().text())
        self.token_file().write_text(json.dumps({**login, "expires_at": 1.0}), encoding="utf-8")


def browse(url: str) -> str:
    """What a person sees in the end."""
    try:
        with urllib.request.urlopen(url, timeout=10) as page:
            return page.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.read().decode()


@pytest.fixture
def server() -> Iterator[Authorizing]:
    with authorizing(Script(json.dumps([tool("search")]))) as one:
        yield one


@pytest.fixture
def person(tmp_path: Path, server: Authorizing, monkeypatch: pytest.MonkeyPatch) -> Person:
    one = Person(tmp_path, server)
    monkeypatch.setenv("RING", str(one.ring))
    return one


def log_in(server: Authorizing, **wish: Any) -> Login:
    """What `login` does without the command around it, whose start takes seconds."""
    from mcp_lock.oauth import flow

    def go(url: str) -> None:
        threading.Thread(target=browse, args=(url,), daemon=True).start()

    url = HttpServer(f"{server.origin}/mcp", "http")
    return anyio.run(flow.log_in, url, flow.Wish(timeout=30, **wish), lambda _: None, go)


def test_a_login_asks_what_it_says_and_nothing_else(person, server):
    done = person.browsed(person.anew("login", "notes"))
    assert done.code == 0
    asked = [f"{one.method} {urlsplit(one.path).path}" for one in server.requests]
    assert asked[:6] == [
        "POST /mcp",
        f"GET {DISCOVERY[0]}",
        f"GET {DISCOVERY[1]}",
        "POST /register",
        "GET /authorize",
        "POST /token",
    ]
    assert {*asked[6:]} <= {"POST /mcp", "DELETE /mcp"}
    said = [line.partition(PAGE)[0] for line in done.err.splitlines()]
    assert said == [
        f"mcplock: POST {server.origin}/mcp",
        f"mcplock: GET {server.origin}{DISCOVERY[0]}",
        f"mcplock: GET {server.origin}{DISCOVERY[1]}",
        f"mcplock: POST {server.origin}/register",
        f"mcplock: notes asks you to log in at {server.origin}",
        "mcplock: ",
        f"mcplock: POST {server.origin}/token",
    ]
    assert "You can close this page" in person.page
    where = IN_FILE.format(state=person.state, id=person.token_file().stem)
    assert done.out == (
        f"logged in to notes at {server.origin}; the token is {where}, mode 0600: no keyring on this machine\n"
        "it works: the server lists 1 contract\n"
    )


def test_a_client_is_registered_as_one_that_keeps_no_secret_and_asks_for_the_scope_of_the_server(server):
    login = log_in(server)
    client = server.clients["client-1"]
    assert client["token_endpoint_auth_method"] == "none"
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/callback", client["redirect_uris"][0])
    assert server.scopes == ["read"]
    assert (login.client_id, login.client_secret, login.scope) == ("client-1", "", "read")
    assert login.expires_at - time.time() == pytest.approx(3600, abs=60)
    assert [secret for secret in login.secrets() if secret in repr(login)] == []


def test_a_scope_can_be_asked_for(server):
    log_in(server, scope="read write")
    assert server.scopes == ["read write"]
    with pytest.raises(UsageError, match="--oauth-scope holds what no scope can hold"):
        log_in(server, scope='x", resource_metadata="http://x')


def test_a_server_without_a_challenge_is_asked_by_the_well_known_paths(server):
    server.policy.challenge = ""
    log_in(server)
    assert server.paths[1:3] == DISCOVERY


def test_a_server_that_greets_anybody_can_be_logged_into(server):
    server.policy.protected = False
    assert log_in(server).access_token in server.living


def test_a_redirect_of_the_metadata_counts_as_nothing_there(server):
    server.policy.redirect = {DISCOVERY[0]: "$OTHER/x"}
    log_in(server)
    assert server.other.requests == []
    assert DISCOVERY[0] in server.paths


def test_a_client_that_is_registered_already_is_used(server):
    server.policy.registers = False
    port = free_port()
    server.clients["by-hand"] = {"client_id": "by-hand", "redirect_uris": [f"http://127.0.0.1:{port}/callback"]}
    assert log_in(server, port=port, client_id="by-hand").client_id == "by-hand"
    assert "/register" not in server.paths


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def test_a_machine_logs_in_by_client_credentials_and_renews_by_them(person, server):
    login = log_in(server, machine=True, client_id=MACHINE[0], client_secret=MACHINE[1])
    assert not {"/authorize", "/register"} & {*server.paths}
    person.keep(login)
    assert person.run("lock").code == 0
    server.end_tokens()
    assert person.run("verify").code == 0
    assert server.paths.count("/token") == 2
    server.end_tokens()
    person.keep(replace(person.stored(), client_secret="changed-123456"))
    assert said(person.run("verify")).endswith("log in again: mcplock login notes --client-credentials)")


@pytest.mark.parametrize("machine", [True, False], ids=["machine", "person"])
def test_the_secret_of_a_client_goes_to_no_authorization_server_that_nobody_named(server, machine):
    robot = {"machine": machine, "client_id": MACHINE[0], "client_secret": MACHINE[1]}
    with authorizing() as other:
        server.policy.resource = {"authorization_servers": [other.origin]}
        with pytest.raises(ConnectError) as caught:
            log_in(server, **robot)
        assert str(caught.value) == (
            f"the server leads to {other.origin}, which is not {server.origin}: if that is who knows the "
            f"client, use --issuer {other.origin}"
        )
        assert other.paths == [DISCOVERY[1]]
        if machine:
            log_in(server, **robot, issuer=other.origin)
            assert other.paths == [DISCOVERY[1], DISCOVERY[1], "/token"]


def test_a_keyring_keeps_the_token_and_the_index_says_so(person, server):
    person.use_ring("FileRing")
    person.be_logged_in()
    assert list(person.state.rglob("*.token")) == []
    assert server.given[-1] in person.ring.read_text(encoding="utf-8")
    assert person.run("lock").code == 0
    server.end_tokens()
    assert person.run("verify").code == 0
    assert server.given[-1] in person.ring.read_text(encoding="utf-8")
    assert "logged in; the token is in the keyring (ring of the tests)" in said_all(person.run("servers"))
    assert person.run("logout", "notes").code == 0
    assert json.loads(person.ring.read_text(encoding="utf-8")) == {}


def said_all(done: Result) -> str:
    return " ".join(done.out.split())


@pytest.mark.parametrize(
    ("backend", "why"),
    [
        ("tests.servers.ring.Locked", "the keyring failed: the ring is locked"),
        ("tests.servers.ring.Forgetful", "the keyring did not keep it"),
        ("keyring.backends.null.Keyring", "no keyring on this machine"),
    ],
)
def test_a_keyring_that_does_not_work_is_said_and_a_file_takes_its_place(person, server, backend, why):
    login = log_in(server)
    person.env["PYTHON_KEYRING_BACKEND"] = backend
    place = person.keep(login)
    assert place.words == f"{IN_FILE.format(state=person.state, id=person.token_file().stem)}, mode 0600: {why}"
    assert person.stored() == login


def test_only_the_owner_can_read_what_is_kept(person):
    person.be_logged_in()
    directory = person.token_file().parent
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()} == {0o600}
    assert sorted(path.suffix for path in directory.iterdir()) == [".json", ".token"]


def test_checks_ask_the_server_alone_and_show_it_the_token(person, server):
    person.be_logged_in()
    server.requests.clear()
    assert person.run("lock").code == 0
    assert person.run("verify").out == "1 server, 1 contract: as locked.\n"
    assert {*server.paths} == {"/mcp"}
    token = person.stored().access_token
    assert {one.headers.get("authorization") for one in server.requests} == {f"Bearer {token}"}
    assert lockfile.read(person.project.lock).servers["notes"].launch.headers == {}


def test_a_check_without_a_login_is_told_where_to_log_in_and_fetches_nothing(person, server):
    done = person.run("lock")
    assert done.code == 3
    assert said(done) == (
        f"notes: could not be checked: 401 Unauthorized from {server.origin}/mcp to server/discover: "
        "no living token, but (log in: mcplock login notes; in CI, give the config a header, such as "
        '"Authorization": "Bearer ${TOKEN}", or use mcplock login notes --client-credentials)'
    )
    assert server.paths == ["/mcp"]
    assert not person.state.exists()


def said(done: Result) -> str:
    """The first line of a report, however it was broken."""
    return " ".join(done.out.partition("\n\n")[0].split())


@pytest.mark.parametrize("rotates", [True, False], ids=["rotated", "kept"])
def test_a_token_that_ended_is_renewed_without_asking(person, server, rotates):
    person.be_logged_in()
    person.run("lock")
    before = person.stored()
    server.policy.rotates = rotates
    server.end_tokens()
    server.requests.clear()
    assert person.run("verify").code == 0
    assert server.paths[:3] == ["/mcp", "/token", "/mcp"]
    assert server.paths.count("/token") == 1
    after = person.stored()
    assert after.access_token != before.access_token
    assert (after.refresh_token != before.refresh_token) is rotates
    assert person.run("verify").code == 0
    assert server.paths.count("/token") == 1


def test_a_token_that_is_about_to_end_is_renewed_before_it_is_used(person, server):
    person.be_logged_in()
    person.end_now()
    server.requests.clear()
    assert person.run("lock").code == 0
    assert server.paths[:2] == ["/token", "/mcp"]
    assert server.paths.count("/token") == 1
    assert person.stored().expires_at > 1


def test_a_token_that_never_lives_longer_than_a_moment_is_not_renewed_for_every_request(person, server):
    server.policy.lifetime = 20
    person.be_logged_in(expires_at=time.time() + 20)
    server.requests.clear()
    assert person.run("lock").code == 0
    assert server.paths.count("/token") == 1


def test_a_login_that_was_revoked_says_what_to_do(person, server):
    person.be_logged_in()
    person.run("lock")
    server.revoke_all()
    server.requests.clear()
    done = person.run("verify")
    assert done.code == 3
    assert "invalid_grant" in said(done)
    assert said(done).endswith("; log in again: mcplock login notes)")
    assert server.paths == ["/mcp", "/token"]
    person.be_logged_in()
    assert person.run("verify").code == 0


def test_an_authorization_server_that_is_down_costs_no_login(person, server):
    person.be_logged_in()
    person.run("lock")
    before = person.stored()
    server.end_tokens()
    server.policy.broken = {"/token"}
    done = person.run("verify")
    assert done.code == 3
    assert "did not renew the login: 503 Service Unavailable: down for maintenance" in said(done)
    assert "log in again" not in said(done)
    server.policy.broken = set()
    assert person.stored() == before
    assert person.run("verify").code == 0


def test_many_processes_renew_a_login_once(person, server):
    person.be_logged_in()
    person.run("lock")
    server.end_tokens()
    server.requests.clear()
    env = {**os.environ, **person.env}
    crowd = [Forked(["verify"], cwd=person.project.root, env=env, stdout=subprocess.DEVNULL) for _ in range(4)]
    assert [one.wait(LONGEST_RUN) for one in crowd] == [0, 0, 0, 0]
    assert server.paths.count("/token") == 1


def test_a_renewal_that_another_process_won_is_not_the_end_of_the_login(person, server, tmp_path):
    """The lock between processes is not everywhere: then the loser reads what the winner has stored."""
    person.be_logged_in()
    person.run("lock")
    lost, now = person.stored(), None
    server.end_tokens()
    assert person.run("verify").code == 0
    now = person.stored()
    held = tmp_path / "held"
    script = (
        "import sys, anyio, pathlib\n"
        "from mcp_lock.config import HttpServer\n"
        "from mcp_lock.oauth import bearer, login_in, tokens\n"
        "path, lost, url = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]\n"
        "now = path.read_text()\n"
        "path.write_text(lost)\n"
        "ask = tokens.renew\n"
        "async def late(login):\n"
        "    path.write_text(now)\n"
        "    return await ask(login)\n"
        "tokens.renew = late\n"
        "one = bearer.Bearer(HttpServer(url, 'http'), print, lambda _: None)\n"
        "async def main():\n"
        "    first = await one.token()\n"
        "    assert login_in(lost).access_token == first\n"
        "    assert await one.renewed(first) == login_in(now).access_token\n"
        "    assert one.trouble == ''\n"
        "anyio.run(main)\n"
    )
    held.write_text(script, encoding="utf-8")
    subprocess.run(
        [sys.executable, str(held), str(person.token_file()), lost.text(), f"{server.origin}/mcp"],
        env={**os.environ, **person.env},
        check=True,
        timeout=LONGEST_RUN,
    )
    assert person.stored() == now
    assert server.paths.count("/token") == 2


def test_a_login_is_for_its_url_and_not_for_a_name(person, server):
    person.be_logged_in()
    with authorizing() as other:
        person.project.configure("notes", type="http", url=f"{other.origin}/mcp")
        assert person.run("lock").code == 3
        assert [one.headers.get("authorization") for one in other.requests] == [None]
    person.project.configure("notes", type="http", url=f"{server.origin}/mcp/other")
    server.requests.clear()
    assert person.run("lock").code == 3
    assert [one.headers.get("authorization") for one in server.requests] == [None]


def test_a_header_of_the_config_goes_before_a_login(person, server):
    person.be_logged_in()
    person.project.configure(
        "notes", type="http", url=f"{server.origin}/mcp", headers={"Authorization": "Bearer ${TOKEN}"}
    )
    server.requests.clear()
    done = person.run("lock", TOKEN="own-token-123456")
    assert done.code == 3
    assert said(done).endswith(
        "(it does not accept header Authorization (from TOKEN); the server asks for OAuth: without it, "
        "mcplock login notes)"
    )
    assert {one.headers["authorization"] for one in server.requests} == {"Bearer own-token-123456"}
    assert person.login(TOKEN="own-token-123456").code == 2
    server.living["own-token-123456"] = 1e12
    assert person.run("lock", TOKEN="own-token-123456").code == 0


REFUSED = {
    "denied": ({"consent": "deny"}, "the login was refused: access_denied: I would\\u{1b}[31m rather not"),
    "wrong state": (
        {"state": "another"},
        "the answer that came does not belong to this login (its state is another one)",
    ),
    "metadata elsewhere": (
        {"challenge": 'Bearer resource_metadata="http://mcp.invalid/.well-known/x"'},
        "http://mcp.invalid is not https, so it is not asked",
    ),
    "metadata by file": (
        {"challenge": 'Bearer resource_metadata="file:///etc/passwd"'},
        "what the server names is not https, so it is not asked",
    ),
    "issuer elsewhere": (
        {"resource": {"authorization_servers": ["http://as.invalid"]}},
        "http://as.invalid is not https, so it is not asked",
    ),
    "another resource": (
        {"resource": {"resource": "https://bank.test/mcp"}},
        "the login failed: Protected resource https://bank.test/mcp does not match expected $SELF/mcp",
    ),
    "token endpoint elsewhere": (
        {"issuer": {"token_endpoint": "http://as.invalid/token"}},
        "http://as.invalid is not https, so it is not asked",
    ),
    "login page elsewhere": (
        {"issuer": {"authorization_endpoint": "http://as.invalid/authorize"}},
        "http://as.invalid is not https, so it is not asked",
    ),
    "another issuer": (
        {"issuer": {"issuer": "https://as.invalid"}},
        "the login failed: Authorization server metadata issuer mismatch: https://as.invalid != $SELF",
    ),
    "no pkce": (
        {"issuer": {"code_challenge_methods_supported": None}},
        "$SELF does not offer PKCE with S256, which MCP demands",
    ),
    "no registration": ({"registers": False}, "no client could be registered: Registration failed: 403"),
    "down": ({"broken": {DISCOVERY[0]}}, "the login failed: Protected resource metadata request failed: HTTP 503"),
    "no oauth": (
        {"challenge": "", "broken": {DISCOVERY[1]}, "resource": {"authorization_servers": []}},
        "the server does not say where to log in (no metadata was found)",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_login_that_cannot_be_trusted_ends_in_one_line_before_any_token(server, case):
    policy, line = REFUSED[case]
    for name, value in policy.items():
        setattr(server.policy, name, value)
    with pytest.raises(ConnectError) as caught:
        log_in(server)
    assert str(caught.value).startswith(line.replace("$SELF", server.origin))
    assert "/token" not in server.paths


def test_a_login_that_is_refused_keeps_nothing(person, server):
    server.policy.consent = "deny"
    done = person.login()
    assert (done.code, done.out) == (3, "")
    assert done.err.splitlines()[-1] == f"mcplock: {REFUSED['denied'][1]}"
    assert not person.state.exists()


def test_a_token_answer_that_cannot_be_read_is_not_quoted(server):
    server.policy.lifetime = "for ever"
    with pytest.raises(ConnectError) as caught:
        log_in(server)
    assert str(caught.value) == "the login failed: Invalid token response"


def test_what_the_authorization_server_quotes_of_the_login_is_masked(server):
    server.policy.resource = {"resource": f"{server.origin}/"}
    with pytest.raises(ConnectError) as caught:
        log_in(server)
    line = str(caught.value)
    assert line.startswith("the login failed: Token exchange failed (400): ")
    assert "not with authorization_code ***" in line
    assert line.count("***") == 2


def test_what_goes_wrong_shows_no_secret_with_debug_either(person, server):
    server.policy.broken = {"/token"}
    done = person.login("--debug")
    assert done.code == 1
    assert "Traceback" in done.err
    assert "the login failed: Token exchange failed (503): down for maintenance" in done.err
    assert len(server.given) == 1


def test_client_credentials_come_from_the_environment_alone(person):
    done = person.login("--client-credentials")
    assert done.code == 2
    assert (
        done.err == "mcplock: --client-credentials takes the client from MCPLOCK_CLIENT_ID and MCPLOCK_CLIENT_SECRET\n"
    )


def test_a_keyring_that_fails_later_is_said(person):
    person.use_ring("FileRing")
    person.be_logged_in()
    person.use_ring("Locked")
    done = person.run("lock")
    assert done.code == 3
    assert "the login cannot be read: the keyring failed: the ring is locked; log in again" in said(done)


def test_a_keyring_that_never_answers_takes_no_longer_than_a_server_may(person):
    person.use_ring("FileRing")
    person.be_logged_in()
    person.use_ring("Silent")
    done = person.run("lock", "--timeout", "2")
    assert done.code == 3
    assert "within 2 s" in said(done)


def test_a_keyring_is_not_asked_about_a_server_without_a_login(person):
    person.use_ring("Silent")
    assert person.run("lock", "--timeout", "20").code == 3
    assert "401" in said(person.run("lock"))


def test_a_file_that_others_can_read_is_closed_and_that_is_said(person):
    person.be_logged_in()
    person.run("lock")
    person.token_file().chmod(0o644)
    done = person.run("verify", "-v")
    assert done.code == 0
    assert "others could read" in said_all(done)
    assert stat.S_IMODE(person.token_file().stat().st_mode) == 0o600


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"version": 2}', "\x00", "[" * 100_000])
def test_a_damaged_login_is_said(person, text):
    person.be_logged_in()
    person.token_file().write_text(text, encoding="utf-8")
    assert "the login is damaged; log in again: mcplock login notes" in said(person.run("lock"))


def test_a_link_in_the_place_of_a_token_is_not_followed(person, tmp_path):
    person.be_logged_in()
    there = tmp_path / "there"
    person.token_file().rename(there)
    index = next(person.state.rglob("*.json"))
    index.with_suffix(".token").symlink_to(there)
    assert "the login cannot be read" in said(person.run("lock"))


def test_logging_out_revokes_the_login_and_leaves_nothing(person, server):
    person.be_logged_in()
    person.run("lock")
    done = person.run("logout", "notes")
    assert done.code == 0
    assert done.out.startswith("logged out of notes: the token is no longer in ")
    assert done.out.endswith(f", and revoked at {server.origin}\n")
    assert server.renewing == set()
    assert list((person.state / "mcplock" / "logins").iterdir()) == []
    assert person.run("logout", "notes").out == "not logged in to notes\n"
    assert person.run("verify").code == 3


def test_a_login_that_cannot_be_revoked_is_forgotten_all_the_same(person, server):
    person.be_logged_in()
    server.policy.broken = {"/revoke"}
    done = person.run("logout", f"{server.origin}/mcp?key=hidden-123")
    assert done.code == 0
    assert f", but not revoked: {server.origin} answered 503 Service Unavailable: down for maintenance\n" in done.out
    assert "hidden-123" not in done.out
    assert list((person.state / "mcplock" / "logins").iterdir()) == []


def test_what_cannot_be_logged_into_is_said(person, server):
    person.project.serve("local", tool("search"))
    person.project.configure("plain", type="http", url="http://mcp.invalid/mcp")
    person.project.configure("off", type="http", url="${UNSET_URL}")
    lines = {
        "nobody": "no server 'nobody' in the configs; there are: local, notes, off, plain",
        "local": "local is a command, not a URL: there is nothing to log in to",
        "plain": "plain is neither behind https nor on this machine, so no token is sent to it",
        "http://u:p@127.0.0.1:9/mcp": "the config itself says who asks http://127.0.0.1:9/mcp, which goes before any "
        "login: take that out first",
    }
    for name, line in lines.items():
        done = person.login(name=name)
        assert (done.code, done.err) == (2, f"mcplock: {line}\n")
    assert "UNSET_URL is not set" in person.login(name="off").err
    assert server.requests == []


def test_a_person_has_so_long_and_no_longer(person):
    with person.start("login", "notes", "--timeout", "0.2") as process:
        err = process.stderr.read().decode()
    assert process.returncode == 3
    assert err.endswith("mcplock: nobody logged in within 0.2 s (--timeout)\n")


def test_the_browser_of_the_machine_is_opened_unless_nobody_wants_it(person, tmp_path):
    seen = tmp_path / "seen"
    person.env["BROWSER"] = f"{sys.executable} {ROOT / 'tests' / 'servers' / 'browser.py'} {seen} %s"
    with person.start("login", "notes") as process:
        err = process.stderr.read().decode()
    assert process.returncode == 0
    assert seen.read_text(encoding="utf-8") in err
    seen.unlink()
    assert person.login("--no-browser").code == 0
    assert not seen.exists()


def test_without_the_extra_login_says_what_to_install_and_checks_work(person, tmp_path):
    person.be_logged_in()
    (tmp_path / "less" / "mcp").mkdir(parents=True)
    (tmp_path / "less" / "mcp" / "__init__.py").write_text("raise ImportError('none')", encoding="utf-8")
    (tmp_path / "less" / "keyring.py").write_text("raise ImportError('none')", encoding="utf-8")
    person.env["PYTHONPATH"] = str(tmp_path / "less")
    done = person.browsed(person.anew("login", "notes"))
    assert (done.code, done.err) == (
        2,
        "mcplock: login needs the extra of that name: pip install 'mcp-lock[login]'\n",
    )
    assert person.browsed(person.anew("lock")).code == 0
    assert person.browsed(person.anew("logout", "notes")).code == 0


def test_a_guard_shows_the_token_and_renews_it_in_a_long_session(person, server, monkeypatch):
    person.be_logged_in()
    person.run("lock")
    for name, value in person.env.items():
        monkeypatch.setenv(name, value)
    client = Client(["guard", "notes", "--log", "guard.log"], person.project.root, "legacy")
    try:
        client.greet()
        assert client.call("search")["result"]["isError"] is False
        server.end_tokens()
        assert client.call("search")["result"]["isError"] is False
        assert server.paths.count("/token") == 1
        server.revoke_all()
        assert "log in again: mcplock login notes" in json.dumps(client.request("ping"))
        assert client.close() == 0
    finally:
        client.end()
    person.checked(Result(0, b"".join(client.heard).decode(), ""))


def test_a_server_that_lists_the_token_is_not_pinned(person, server):
    person.be_logged_in()
    token = person.stored().access_token
    server.script.tools = json.dumps([tool("search", f"Use {token}.")])
    done = person.run("lock")
    assert done.code == 3
    assert not person.project.lock.exists() or token not in person.project.lock.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", ["/sse", "/mcp"])
def test_both_transports_show_the_token(person, server, path):
    person.be_logged_in()
    server.policy.resource = {"resource": f"{server.origin}/"}
    person.project.configure("notes", type="sse" if path == "/sse" else "http", url=f"{server.origin}{path}")
    login = json.loads(person.stored().text())
    entry = next(person.state.rglob("*.json"))
    if path == "/sse":
        from hashlib import sha256

        resource = f"{server.origin}/sse"
        name = sha256(resource.encode()).hexdigest()[:32]
        facts = json.loads(entry.read_text(encoding="utf-8"))
        entry.with_name(f"{name}.json").write_text(json.dumps({**facts, "resource": resource}), encoding="utf-8")
        entry.with_name(f"{name}.token").write_text(json.dumps({**login, "resource": resource}), encoding="utf-8")
    assert person.run("lock").code == 0


@pytest.mark.parametrize(
    ("url", "resource"),
    [
        ("HTTPS://Host.Test:443/mcp/?key=1#x", "https://host.test/mcp/"),
        ("https://u:p@host.test", "https://host.test"),
        ("https://host.test/", "https://host.test"),
        ("http://[::1]:80/a", "http://[::1]/a"),
        ("http://127.0.0.1:8080/a", "http://127.0.0.1:8080/a"),
        ("ftp://host.test/a", ""),
        ("https://host.test:99999/", ""),
        ("notes", ""),
    ],
)
def test_a_resource_is_a_url_without_what_may_be_secret(url, resource):
    assert resource_of(url) == resource


def test_only_tls_and_this_machine_are_private():
    private = ["https://a.test/x", "http://127.0.0.1:1/", "http://localhost/", "http://[::1]:5/"]
    public = [
        "http://a.test",
        "http://127.0.0.1.a.test/",
        "http://localhost.a.test",
        "file:///etc",
        "http://[::2]/",
        "",
    ]
    assert [url for url in private + public if is_private(url)] == private
    assert not is_loopback("https://a.test")
    assert origin_of("https://a.test:8443/x/y?z") == "https://a.test:8443"


CALLS = {
    "another path": (b"GET /favicon.ico HTTP/1.1\r\nHost: $HOST\r\n\r\n", b"404"),
    "no parameters": (b"GET /callback HTTP/1.1\r\nHost: $HOST\r\n\r\n", b"400"),
    "another host": (b"GET /callback?code=x&state=y HTTP/1.1\r\nHost: evil.test\r\n\r\n", b"400"),
    "no host": (b"GET /callback?code=x&state=y HTTP/1.1\r\n\r\n", b"400"),
    "a form": (b"POST /callback?code=x&state=y HTTP/1.1\r\nHost: $HOST\r\n\r\n", b"400"),
    "an odd path": (b"GET //[x HTTP/1.1\r\nHost: $HOST\r\n\r\n", b"400"),
    "too long": (b"GET /callback?code=" + b"x" * 40_000, b"400"),
    "junk": (b"\x16\x03\x01\x02\x00\x01\r\n\r\n", b"400"),
    "nothing": (b"", b""),
}


def test_the_address_that_the_browser_comes_back_to_takes_nothing_but_the_answer():
    from mcp_lock.oauth.callback import Callback

    async def knock(callback: Callback) -> None:
        host = urlsplit(callback.url).netloc.encode()
        for name, (sent, status) in CALLS.items():
            async with await anyio.connect_tcp("127.0.0.1", urlsplit(callback.url).port) as stream:
                if sent:
                    await stream.send(sent.replace(b"$HOST", host))
                    assert (await stream.receive()).split(b" ")[1] == status, name
        async with await anyio.connect_tcp("127.0.0.1", urlsplit(callback.url).port) as stream:
            await stream.send(b"GET /callback?code=right&state=s HTTP/1.1\r\nHost: %b\r\n\r\n" % host)
            page = await stream.receive()
            assert page.startswith(b"HTTP/1.1 200 OK\r\n")
            assert b"right" not in page

    async def main() -> None:
        with anyio.fail_after(20):
            async with Callback(0) as callback, anyio.create_task_group() as tasks:
                tasks.start_soon(knock, callback)
                assert (await callback.wait("s", 10))["code"] == "right"

    anyio.run(main)


def test_an_answer_can_be_pasted_into_a_terminal(person):
    ours, theirs = os.openpty()
    with person.start("login", "notes", "--no-browser", stdin=theirs) as process:
        end = threading.Timer(LONGEST_RUN, process.kill)
        end.start()
        page = ""
        for line in map(bytes.decode, process.stderr):
            page = line.split()[-1] if PAGE in line else page
            if "paste the address" in line:
                os.write(ours, f"nonsense\n{redirect_of(page)}\n".encode())
        assert "logged in to notes" in process.stdout.read().decode()
        end.cancel()
    os.close(ours)
    os.close(theirs)
    assert process.returncode == 0


def redirect_of(page: str) -> str:
    """Where the authorization server sends the browser, which never gets there."""

    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_: object) -> None:
            return None

    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.build_opener(Stay).open(page, timeout=10)
    with caught.value as answer:
        there = answer.headers["Location"]
    assert parse_qs(urlsplit(there).query)["code"]
    return there
