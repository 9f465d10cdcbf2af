"""One session of the Python SDK's client with `server-everything`: `session.py everything|blocked COMMAND ARG...`.

Runs with mcp 1.26 and 2.x alike, so it is not typed against one of them. Prints what became of each step, a JSON line
each: `[step, result]` or `[step, {"error": …}]`.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import warnings
from collections import defaultdict
from contextlib import AsyncExitStack
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    Step = Callable[[Any], Awaitable[Any]]

mcp: Any = import_module("mcp")
types: Any = import_module("mcp.types")

HAS_CLIENT = hasattr(mcp, "Client")
"""The class of 2.x that negotiates; before it, there are the session and the handshake."""
URI = "demo://resource/dynamic/text/1"
_ELICITED = {"action": "accept", "content": {"name": "Ada", "check": True, "integer": 7}}
_SAMPLED = {
    "role": "assistant",
    "model": "none",
    "stopReason": "endTurn",
    "content": {"type": "text", "text": "sampled"},
}
seen: dict[str, asyncio.Event] = defaultdict(asyncio.Event)
"""What the server has sent, by its method."""


async def _sample(_context: Any, _params: Any) -> Any:
    return types.CreateMessageResult.model_validate(_SAMPLED)


async def _elicit(_context: Any, params: Any) -> Any:
    is_url = getattr(params, "mode", "form") == "url"
    return types.ElicitResult.model_validate({"action": "accept"} if is_url else _ELICITED)


async def _roots(_context: Any) -> Any:
    seen["roots/list"].set()
    return types.ListRootsResult.model_validate({"roots": [{"uri": "file:///interop", "name": "interop"}]})


async def _heard(message: Any) -> None:
    method = getattr(getattr(message, "root", message), "method", None)
    seen[str(method)].set()


async def _logged(_params: Any) -> None:
    seen["notifications/message"].set()


async def connected(stack: AsyncExitStack, command: str, *args: str) -> Any:
    """A session that has been introduced to the server."""
    server = mcp.StdioServerParameters(command=command, args=list(args), env=dict(os.environ))
    callbacks = {
        "sampling_callback": _sample,
        "elicitation_callback": _elicit,
        "list_roots_callback": _roots,
        "logging_callback": _logged,
        "message_handler": _heard,
    }
    start = import_module("mcp.client.stdio").stdio_client
    if HAS_CLIENT:
        client = await stack.enter_async_context(mcp.Client(start(server), **callbacks))
        return client.session
    streams = await stack.enter_async_context(start(server))
    session = await stack.enter_async_context(mcp.ClientSession(*streams, **callbacks))
    await session.initialize()
    return session


def _tool(name: str, /, *, progress: bool = False, **arguments: Any) -> Step:
    async def ignored(*_: Any) -> None:
        pass

    told = {"progress_callback": ignored} if progress else {}
    return lambda session: session.call_tool(name, arguments, **told)


def _got(name: str, *words: Any) -> Step:
    """A method of the session with these arguments."""
    return lambda session: getattr(session, name)(*words)


def _uri(name: str, uri: str) -> Step:
    return _got(name, uri if HAS_CLIENT else import_module("pydantic").AnyUrl(uri))


def _waits(method: str) -> Step:
    async def wait(_: Any) -> None:
        await asyncio.wait_for(seen[method].wait(), 20)

    return wait


def _complete(argument: Mapping[str, str], context: Mapping[str, str] | None = None) -> Step:
    ref = types.PromptReference.model_validate({"type": "ref/prompt", "name": "completable-prompt"})
    return _got("complete", ref, argument, context)


async def _cancelled(session: Any) -> str:
    """Give up a call after its first progress."""
    begun = asyncio.Event()

    async def progress(*_: Any) -> None:
        begun.set()

    arguments = {"duration": 0.4, "steps": 4}
    running = asyncio.ensure_future(
        session.call_tool("trigger-long-running-operation", arguments, progress_callback=progress)
    )
    await asyncio.wait_for(begun.wait(), 20)
    if not HAS_CLIENT:  # 1.x tells nobody by itself, and knows the id as the one before the next
        number = session._request_id - 1  # noqa: SLF001  there is no other way to learn it
        notice = types.CancelledNotification(params=types.CancelledNotificationParams(requestId=number))
        await session.send_notification(types.ClientNotification(notice))
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    return "cancelled"


ROOTS, TOOLS = _waits("roots/list"), _got("list_tools")
STRUCTURED = _tool("get-structured-content", location="Chicago")
EVERYTHING: Mapping[str, Step] = {
    "roots": ROOTS,
    "logged": _waits("notifications/message"),
    "ping": _got("send_ping"),
    "level": _got("set_logging_level", "info"),
    "tools": TOOLS,
    "echo": _tool("echo", message="héllo \u2028 \U0001f95a"),
    "sum": _tool("get-sum", a=1.5, b=2),
    "wrong arguments": _tool("get-sum", a="one"),
    "structured": STRUCTURED,
    "image": _tool("get-tiny-image"),
    "annotated": _tool("get-annotated-message", messageType="error", includeImage=True),
    "links": _tool("get-resource-links", count=4),
    "reference": _tool("get-resource-reference", resourceType="Blob", resourceId=2),
    "environment": _tool("get-env"),
    "known roots": _tool("get-roots-list"),
    "sampling": _tool("trigger-sampling-request", prompt="say it", maxTokens=5),
    "elicitation": _tool("trigger-elicitation-request"),
    "url elicitation": _tool("trigger-url-elicitation", url="https://example.com/", elicitationId="one"),
    "url elicitation as an error": _tool(
        "trigger-url-elicitation", url="https://example.org/", elicitationId="two", errorPath=True
    ),
    "cancelled": _cancelled,
    "longer than that": _tool("trigger-long-running-operation", progress=True, duration=0.5, steps=5),
    "after that": _tool("echo", message="still here"),
    "prompts": _got("list_prompts"),
    "prompt": _got("get_prompt", "simple-prompt"),
    "prompt with arguments": _got("get_prompt", "args-prompt", {"city": "Oslo", "state": "none"}),
    "prompt with a resource": _got("get_prompt", "resource-prompt", {"resourceType": "Text", "resourceId": "3"}),
    "no such prompt": _got("get_prompt", "args-prompt"),
    "completion": _complete({"name": "department", "value": "S"}),
    "completion in context": _complete({"name": "name", "value": ""}, {"department": "Sales"}),
    "resources": _got("list_resources"),
    "templates": _got("list_resource_templates"),
    "read": _uri("read_resource", URI),
    "read a blob": _uri("read_resource", "demo://resource/dynamic/blob/1"),
    "read a document": _uri("read_resource", "demo://resource/static/document/architecture.md"),
    "no such resource": _uri("read_resource", "demo://nothing"),
    "subscribe": _uri("subscribe_resource", URI),
    "updates": _tool("toggle-subscriber-updates"),
    "updated": _waits("notifications/resources/updated"),
    "no updates": _tool("toggle-subscriber-updates"),
    "unsubscribe": _uri("unsubscribe_resource", URI),
    "zipped": _tool("gzip-file-as-resource", name="a.gz", data="data:text/plain,interop", outputType="resourceLink"),
    "read what was zipped": _uri("read_resource", "demo://resource/session/a.gz"),
}
SCRIPTS = {"everything": EVERYTHING, "blocked": {"roots": ROOTS, "tools": TOOLS, "structured": STRUCTURED}}


def _plain(value: Any) -> Any:
    is_model = hasattr(value, "model_dump")
    return value.model_dump(by_alias=True, mode="json", exclude_none=True) if is_model else value


async def run(script: str, *command: str) -> None:
    """Take the steps one after the other."""
    async with AsyncExitStack() as stack:
        session = await connected(stack, *command)
        for step, act in SCRIPTS[script].items():
            try:
                result = _plain(await act(session))
            except Exception as error:  # noqa: BLE001  whatever the SDK makes of it is the outcome
                result = {"error": str(error)}
            print(json.dumps([step, result]), flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    asyncio.run(run(*sys.argv[1:]))
