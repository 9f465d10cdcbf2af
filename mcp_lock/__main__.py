"""`python -m mcp_lock`, and the command `mcplock`."""

import gc
import os
import sys
from pathlib import Path


def main() -> None:
    """Run the command line."""
    # what a run imports lives until its end; looking for cycles in it was a quarter of the CPU of a check
    gc.set_threshold(100_000)
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        # None where whoever started this has closed it
        sys.stdout, sys.stderr = sys.stdout or nowhere, sys.stderr or nowhere
        try:
            from mcp_lock.cli import app

            app(prog_name="mcplock")
        except KeyboardInterrupt:  # before the command line was read; later ones are told there
            sys.exit(130)
        finally:
            gc.freeze()


if __name__ == "__main__":
    main()
