"""The shape of the repository: which file may import which, and what no file may hold."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "napoleon_env"

ORDER = (
    "jit",
    "notation",
    "ruleset",
    "rules",
    "dealing",
    "match",
    "observation",
    "story",
    "render",
    "picture",
    "record",
    "solver_core",
    "solver_states",
    "solver",
    "counting",
    "thumb",
    "players",
    "belief",
    "agent",
    "search",
    "statistics",
    "schedule",
    "tables",
    "control",
    "result",
    "journal",
    "external",
    "roster",
    "guided",
    "split",
    "sequence_form",
    "exact",
    "vector_env",
    "single_env",
    "aec_env",
    "opponents",
    "gym_env",
    "gym_vector_env",
    "cluster",
    "tournament",
    "analysis",
    "adapters",
    "viewer",
    "report",
    "tasks",
    "bench",
    "console",
    "__main__",
)
"""The files and folders of napoleon_env: each imports only from those before it (DESIGN.md, Layout). A file that is not there
yet is no fault; one that is there and not in this list is: whoever adds a file says here what may import it."""

STANDARD_FOLDERS = ("agents", "train", "tests")
"""What comes after the package, in this order too; `agents` and `train` import public names of napoleon_env only."""


def place(module: str) -> int:
    """Where a module of the package stands in ORDER."""
    assert module in ORDER, f"napoleon_env/{module} is not in ORDER: what may it import, and what may import it?"
    return ORDER.index(module)


def python_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.py") if "__pycache__" not in path.parts)


def imports(path: Path) -> Iterator[tuple[str, str | None]]:
    """Every import in a file, wherever it stands, as (module, name or None)."""
    for node in ast.walk(ast.parse(path.read_bytes(), str(path))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, None
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports here are absolute"
            for alias in node.names:
                yield node.module or "", alias.name


def module_of(path: Path) -> str:
    """The first name below napoleon_env that a file belongs to: "rules", "adapters" …; "" for the package itself."""
    first = path.relative_to(PACKAGE).parts[0]
    return "" if first == "__init__.py" else first.removesuffix(".py")


def imported_modules(path: Path) -> set[str]:
    """The first names below napoleon_env that a file imports; "" where it imports the package itself."""
    found = set()
    for module, name in imports(path):
        parts = module.split(".")
        if parts[0] != "napoleon_env":
            continue
        if len(parts) > 1:
            found.add(parts[1])
        elif name is not None and ((PACKAGE / f"{name}.py").exists() or (PACKAGE / name).is_dir()):
            found.add(name)
        else:
            found.add("")
    return found


@pytest.mark.parametrize("path", python_files(PACKAGE), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_file_imports_only_from_files_above_it(path: Path) -> None:
    module = module_of(path)
    if module == "":
        return  # the package gathers the public names of all
    for imported in imported_modules(path):
        assert imported != "", f"{path.name} imports napoleon_env itself, which imports it"
        inside = imported == module and path.parent != PACKAGE
        assert inside or place(imported) < place(module), f"{path.name} imports {imported}, which does not stand above it"


def test_the_order_names_each_file_once_and_as_decided() -> None:
    assert len(set(ORDER)) == len(ORDER)
    rules = [ORDER.index(name) for name in ("notation", "ruleset", "rules", "match", "record", "players", "agent", "search")]
    assert rules == sorted(rules)  # DESIGN.md, Layout
    envs = {ORDER.index(name) for name in ("vector_env", "aec_env", "gym_env")}
    assert ORDER.index("roster") < min(envs)
    assert max(envs) < ORDER.index("tournament") < ORDER.index("adapters") < ORDER.index("__main__")


@pytest.mark.parametrize("path", python_files(PACKAGE), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_package_imports_no_torch(path: Path) -> None:
    assert not {module.split(".")[0] for module, _ in imports(path)} & {"torch", "tensorboard", "agents", "train", "tests"}


def test_agents_and_train_import_in_that_order_and_public_names_only() -> None:
    for position, folder in enumerate(STANDARD_FOLDERS[:2]):
        for path in python_files(ROOT / folder):
            for module, name in imports(path):
                assert module.split(".")[0] not in STANDARD_FOLDERS[position + 1 :], f"{path} imports {module}"
                if module.split(".")[0] == "napoleon_env":
                    names = [*module.split("."), *([name] if name else [])]
                    assert not [part for part in names if part.startswith("_")], f"{path} imports {module} {name}"
                    assert names[1:2] != ["jit"], f"{path}: jit belongs to the package"


def test_every_python_file_says_what_it_is_for() -> None:
    paths = [path for folder in ("napoleon_env", *STANDARD_FOLDERS) for path in python_files(ROOT / folder)]
    without = [path.relative_to(ROOT).as_posix() for path in paths if not ast.get_docstring(ast.parse(path.read_bytes()))]
    assert without == []


def files_of_the_repository() -> list[Path]:
    """What git has or would take; without git, as in an unpacked archive, all but hidden and generated folders."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, check=False
    )
    if listed.returncode == 0 and listed.stdout:
        names = listed.stdout.decode().split("\0")
        return [ROOT / name for name in names if name and (ROOT / name).is_file()]
    generated = {"__pycache__", "runs", "build", "dist"}
    return [
        path
        for path in ROOT.rglob("*")
        if path.is_file() and not any(part.startswith(".") or part in generated for part in path.relative_to(ROOT).parts)
    ]


PATH_OF_A_MACHINE = re.compile(
    rb"""(?<![\w.:/}~-])/(?:home|root|Users|work|workspace|mnt|media|private|opt)/\w[\w.-]*|\b[A-Z]:\\(?:Users|work)\b"""
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b"open('" + b"/" + b"home/somebody/x')", True),
        (b"see " + b"/" + b"work/main/README.md", True),
        (b"C:" + b"\\Users\\somebody", True),
        (b"https://example.org/home/page", False),
        (b"../home/x and ~/home/x and $ROOT/home/x", False),
    ],
)
def test_paths_of_a_machine_are_recognised(text: bytes, found: bool) -> None:
    assert (PATH_OF_A_MACHINE.search(text) is not None) == found


def test_no_file_holds_a_path_of_one_machine() -> None:
    files = files_of_the_repository()
    assert ROOT / "pyproject.toml" in files
    found = {}
    for path in files:
        match = PATH_OF_A_MACHINE.search(path.read_bytes())
        if match:
            found[path.relative_to(ROOT).as_posix()] = match.group().decode()
    assert found == {}
