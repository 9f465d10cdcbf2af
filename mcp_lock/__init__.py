"""mcplock, the lockfile for MCP tool contracts.

An MCP server can change what it lists between two calls. mcplock pins the list in `mcp.lock`, says what a change
does to a caller, and fails when what is live is not what was reviewed.
"""

__version__ = "0.1.0"
