"""Makes `.venv`: `python3 bootstrap.py [--torch-index URL]`. Runs on Python alone, before anything is installed.

A second run finds its note of what it installed, in `.venv/installed.json`, and does nothing unless one of these
changed: `pyproject.toml`, `constraints.txt`, the Python, where PyTorch comes from, whether nvcc comes from packages.

PyTorch comes from `--torch-index` where that is given; else an installed one is used, where this Python has it; else
pip's own index decides. nvcc comes from pinned packages where no CUDA toolkit of the pinned release is found.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import platform
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
ENVIRONMENT = ROOT / ".venv"
NOTE = ENVIRONMENT / "installed.json"
PYTHON = ENVIRONMENT / "bin" / "python"
OLDEST_PYTHON = (3, 11)
OLDEST_TORCH = (2, 6)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch-index", metavar="URL", help="where pip finds PyTorch, for example its CPU build")
    arguments = parser.parse_args()
    refuse_what_cannot_work()
    wanted = what_to_install(arguments.torch_index)
    there = json.loads(NOTE.read_text(encoding="utf-8")) if NOTE.is_file() else {}
    if there.get("nvcc") == "packages":
        wanted["nvcc"] = "packages"  # they do no harm beside a toolkit that was found later
    if there == wanted:
        return
    say(f"Setting up {ENVIRONMENT}: a minute, most of it PyTorch.")
    NOTE.unlink(missing_ok=True)
    if any(there.get(name) != wanted[name] for name in ("python", "torch")):
        make_environment(borrow_torch=wanted["torch"] == "installed")
    install(wanted["torch"], with_nvcc=wanted["nvcc"] == "packages")
    build_own_libraries()
    NOTE.write_text(json.dumps(wanted, indent=1) + "\n", encoding="utf-8")


def refuse_what_cannot_work() -> None:
    """One sentence, and what to type, for a machine that could not build anything afterwards."""
    if sys.version_info < OLDEST_PYTHON:
        give_up(f"This is Python {platform.python_version()}; the course needs 3.11 or newer: make PYTHON=python3.11 …")
    if sys.platform != "linux":
        give_up("nvcc exists for Linux only: on a Mac use the container, on Windows WSL2; README.md has the commands.")
    if shutil.which("g++") is None:
        give_up("g++ is missing, and nvcc needs it: sudo apt-get install g++ (or your system's package of that name).")
    if importlib.util.find_spec("ensurepip") is None:
        give_up("This Python cannot make virtual environments: sudo apt-get install python3-venv.")


def what_to_install(torch_index: str | None) -> dict[str, str]:
    sources = b"".join((ROOT / name).read_bytes() for name in ("pyproject.toml", "constraints.txt"))
    return {
        "requirements": hashlib.sha256(sources).hexdigest(),
        "python": f"{platform.python_version()} in {sys.base_prefix}",
        "torch": torch_index or ("installed" if has_torch() else "pip"),
        "nvcc": "system" if has_toolkit() else "packages",
    }


def has_torch() -> bool:
    """Whether the Python that runs this, outside `.venv`, has a PyTorch that is new enough."""
    if importlib.util.find_spec("torch") is None:
        return False
    from importlib.metadata import version

    return tuple(int(number) for number in version("torch").split(".")[:2]) >= OLDEST_TORCH


def has_toolkit() -> bool:
    """Whether the grader would use a CUDA toolkit that is already there."""
    from grader.toolchain import ToolMissing, find_toolchain

    try:
        return find_toolchain().origin == "system"
    except ToolMissing:
        return False


def make_environment(*, borrow_torch: bool) -> None:
    import venv

    venv.create(ENVIRONMENT, clear=True, symlinks=True, with_pip=True)
    if borrow_torch:
        # Not system_site_packages, which shows the folders of the base Python and not those of an active environment.
        folders = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        packages = ENVIRONMENT / "lib" / version / "site-packages"
        (packages / "borrowed.pth").write_text("\n".join(folders) + "\n", encoding="utf-8")


def install(torch: str, *, with_nvcc: bool) -> None:
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    if torch == "installed":
        pinned = [line for line in pinned if not line.startswith("torch==")]
    constraints = ENVIRONMENT / "constraints.txt"
    constraints.write_text("\n".join(pinned) + "\n", encoding="utf-8")
    if torch not in ("installed", "pip"):
        # Alone: such an index need not have the pinned versions of what PyTorch needs.
        pip("--index-url", torch, "--no-deps", "--constraint", str(constraints), "torch")
    pip("--constraint", str(constraints), "setuptools")  # builds this package, below, without an environment of its own
    extras = "book,dev,nvcc" if with_nvcc else "book,dev"
    pip("--constraint", str(constraints), "--no-build-isolation", "--editable", f"{ROOT}[{extras}]")


def build_own_libraries() -> None:
    """Now rather than in the middle of the first check; they lie in the cache and are built again when they change."""
    say("Building the software GPU for this processor: another minute.")
    program = "from grader.native import build_library\nfor name in ('recorder', 'machine'): build_library(name)"
    if subprocess.run([str(PYTHON), "-c", program], cwd=ROOT, check=False).returncode:
        give_up(f"the software GPU could not be built; {ENVIRONMENT / 'bin' / 'grader'} doctor says what is missing.")


def pip(*arguments: str) -> None:
    command = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments]
    if subprocess.run(command, cwd=ROOT, check=False).returncode:
        give_up("pip could not install what the course needs; its own words are above. Then run make again.")


def say(sentence: str) -> None:
    sys.stdout.write(sentence + "\n")
    sys.stdout.flush()


def give_up(sentence: str) -> None:
    sys.exit(f"bootstrap: {sentence}")


if __name__ == "__main__":
    main()
