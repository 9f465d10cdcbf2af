"""The guard: between one client and one server, it lets a call go on only while the tool is as pinned in `mcp.lock`.

`gate` decides, `passage` says what becomes of each message, and the pumps `stdio` and `bridge` move the bytes. Nothing
here writes the lock, prints, or changes a message that goes on.
"""
