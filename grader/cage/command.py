"""The command line that puts a program into its cage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.cage.protection import protection
from grader.native import build_cage

_MEBIBYTE = 1 << 20
_DEVICES = (Path("/dev/null"), Path("/dev/urandom"))


@dataclass(frozen=True)
class Cage:
    """What a program may touch and use.

    Everything in `read` may be read and executed, everything in `write` read and written; no other file can be opened.
    Without `fork` it can start no process. The limits are each process's: seconds of processor time, bytes of address
    space, bytes of one file, open files; None leaves that limit as it is.
    """

    read: tuple[Path, ...] = ()
    write: tuple[Path, ...] = ()
    fork: bool = True
    cpu_seconds: int | None = 60
    memory_bytes: int | None = 8192 * _MEBIBYTE
    file_bytes: int | None = 256 * _MEBIBYTE
    open_files: int | None = 256


def caged(
    command: Sequence[str | Path], cage: Cage, directory: Path, descriptors: Mapping[int, int], report: int
) -> list[str]:
    """The command that limits itself and becomes `command`; it says on descriptor `report` how that went.

    `descriptors` maps each number that the program shall know to the one it inherits.
    """
    limits = {
        "cpu": cage.cpu_seconds,
        "memory": cage.memory_bytes,
        "file": cage.file_bytes,
        "files": cage.open_files,
    }
    words = [str(build_cage()), "--report", str(report)]
    for path in (*cage.read, *_DEVICES):
        words += ["--read", str(path)]
    for path in (*cage.write, Path("/dev/null")):
        words += ["--write", str(path)]
    for target, source in descriptors.items():
        words += ["--fd", f"{target}={source}"]
    for name, value in limits.items():
        words += ["--limit", f"{name}={value}"] if value is not None else []
    words += [] if cage.fork else ["--no-fork"]
    words += ["--", *map(str, command)]
    bubblewrap = protection().bubblewrap
    return words if bubblewrap is None else [*_in_bubblewrap(bubblewrap, cage, directory), *words]


def _in_bubblewrap(bubblewrap: Path, cage: Cage, directory: Path) -> list[str]:
    """The same files by a mount namespace: what is not bound is not there."""
    words = [str(bubblewrap), "--unshare-all", "--die-with-parent", "--dev", "/dev", "--proc", "/proc"]
    for name in ("/bin", "/lib", "/lib32", "/lib64"):
        if Path(name).is_symlink():  # programs name their loader by the old path, whichever way the system points
            words += ["--symlink", str(Path(name).readlink()), name]
    for path in (*cage.read, Path("/etc/alternatives"), build_cage()):
        words += ["--ro-bind-try", str(path), str(path)]
    for path in cage.write:
        words += ["--bind-try", str(path), str(path)]
    return [*words, "--chdir", str(directory)]
