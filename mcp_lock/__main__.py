"""`python -m mcp_lock`, and the command `mcplock`."""

import gc


def main() -> None:
    """Run the command line."""
    # what a run imports lives until its end; looking for cycles in it was a quarter of the CPU of a check
    gc.set_threshold(100_000)
    from mcp_lock.cli import app

    try:
        app(prog_name="mcplock")
    finally:
        gc.freeze()


if __name__ == "__main__":
    main()
