"""Keeps numba's compiled kernels in a folder that is named after the sources they were compiled from.

Numba looks only at the file a function stands in: a kernel that calls a changed kernel of another file, or was compiled
with a changed constant of another file, would be taken from its cache as it was. So every state of the sources has a
folder of its own. This file runs before anything imports numba, in every worker of pytest-xdist too.
"""

import ast
import hashlib
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "napoleon_env"


def _compiled_sources() -> list[Path]:
    """The files of the package that use `jit`, and all that they import of the package, sorted."""
    imports = {path: _package_imports(path) for path in PACKAGE.rglob("*.py")}
    jit = PACKAGE / "jit.py"
    found: set[Path] = set()
    waiting = [jit, *(path for path, imported in imports.items() if jit in imported)]
    while waiting:
        path = waiting.pop()
        if path in imports and path not in found:
            found.add(path)
            waiting += imports[path]
    return sorted(found)


def _package_imports(path: Path) -> set[Path]:
    """The files of the package that a file imports at its top level."""
    found = set()
    for node in ast.parse(path.read_bytes()).body:
        modules = []
        if isinstance(node, ast.ImportFrom) and node.module:
            modules = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        ours = [module for module in modules if module.startswith("napoleon_env.")]
        found |= {PACKAGE.parent.joinpath(*module.split(".")).with_suffix(".py") for module in ours}
    return found


if "NUMBA_CACHE_DIR" not in os.environ:  # a folder of the user's own is left alone
    digest = hashlib.sha256()
    for source in _compiled_sources():
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    os.environ["NUMBA_CACHE_DIR"] = str(ROOT / ".numba_cache" / digest.hexdigest())
