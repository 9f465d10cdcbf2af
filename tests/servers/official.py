"""A surface served with the MCP SDK's own server, for interoperability: stdio, streamable HTTP at /mcp, SSE at /sse.

    python official.py SURFACE.json [stdio|http|sse]

SURFACE.json is as for `plain.py`, but only with definitions that the SDK's types can hold. Both eras are served on
every transport. Over HTTP the first line on stdout is the origin, on loopback, and the server ends when stdin does.
"""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.sse import SseServerTransport
from mcp.server.stdio import stdio_server
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Mount, Route


def surface_server(surface: dict[str, Any]) -> Server[Any]:
    """The SDK's server for a surface; what the surface does not list is not there."""

    async def tools(*_: Any) -> types.ListToolsResult:
        return types.ListToolsResult.model_validate({"tools": surface["tools"], **_HINTS})

    async def prompts(*_: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult.model_validate({"prompts": surface["prompts"], **_HINTS})

    async def resources(*_: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult.model_validate({"resources": surface["resources"], **_HINTS})

    async def templates(*_: Any) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult.model_validate(
            {"resourceTemplates": surface["resourceTemplates"], **_HINTS}
        )

    async def call(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        text = json.dumps({"called": params.name, "with": params.arguments or {}}, sort_keys=True)
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])

    handlers = {
        "tools": {"on_list_tools": tools, "on_call_tool": call},
        "prompts": {"on_list_prompts": prompts},
        "resources": {"on_list_resources": resources},
        "resourceTemplates": {"on_list_resource_templates": templates},
    }
    chosen: dict[str, Any] = {}
    for member in handlers.keys() & surface.keys():
        chosen |= handlers[member]
    info = surface.get("serverInfo", {"name": "official", "version": "1.0.0"})
    instructions = surface.get("instructions")
    return Server(info["name"], version=info["version"], instructions=instructions, **chosen)


_HINTS = {"ttlMs": 0, "cacheScope": "private"}


async def over_stdio(server: Server[Any]) -> None:
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def over_http(server: Server[Any]) -> Starlette:
    return server.streamable_http_app()


def over_sse(server: Server[Any]) -> Starlette:
    transport = SseServerTransport("/messages/")

    async def connect(request: Any) -> Response:
        async with transport.connect_sse(request.scope, request.receive, request._send) as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
        return Response()

    routes = [Route("/sse", connect), Mount("/messages/", app=transport.handle_post_message)]
    return Starlette(routes=routes)


async def listen(app: Starlette) -> None:
    """Serve on a free port of loopback until stdin ends."""
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        web = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))

        async def until_told() -> None:
            await anyio.to_thread.run_sync(sys.stdin.read)
            web.should_exit = True

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(until_told)
            print(f"http://127.0.0.1:{own.getsockname()[1]}", flush=True)
            own.listen()
            await web.serve(sockets=[own])


def main() -> None:
    surface = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    kind = sys.argv[2] if len(sys.argv) > 2 else "stdio"
    server = surface_server(surface)
    if kind == "stdio":
        anyio.run(over_stdio, server)
    else:
        anyio.run(listen, {"http": over_http, "sse": over_sse}[kind](server))


if __name__ == "__main__":
    main()
