"""`python -m mcp_lock`, and the command `mcplock`."""

from mcp_lock.cli import app


def main() -> None:
    """Run the command line."""
    app(prog_name="mcplock")


if __name__ == "__main__":
    main()
