"""A browser for BROWSER: notes in a file which page it was given, and goes there."""

from __future__ import annotations

import sys
import urllib.request
from pathlib import Path

Path(sys.argv[1]).write_text(sys.argv[2], encoding="utf-8")
with urllib.request.urlopen(sys.argv[2], timeout=10) as page:
    page.read()
