"""The zip file of a bundle, written, and read as what a stranger sent.

Nothing is ever extracted to a path that the file names, and no size is believed: each member has the SHA-256 of its
content for a name, is read on demand, whole, and no further than its kind may be long.
"""

from __future__ import annotations

import contextlib
import hashlib
import struct
import zipfile
import zlib
from io import BufferedReader
from itertools import pairwise
from pathlib import Path

from grader.bundle.format import MANIFEST, SUFFIXES, BundleInvalid, Manifest, from_json, to_json
from grader.closing import Closing

MOST_BYTES = 1 << 30  # of the whole file
MOST_MEMBERS = 65_534
_MOST: dict[str, int] = {".cu": 1 << 20, ".py": 1 << 20, ".cubin": 16 << 20, ".json": 16 << 20}
_MOST_MANIFEST = 32 << 20
_END = struct.Struct("<4s4H2LH")  # the end of central directory record, without a comment
_END_MARK = b"PK\x05\x06"
_DIRECTORY_ENTRY = 46  # bytes, and the name's
_LONGEST_NAME = 80
_LOCAL_HEADER = 30
_ENCRYPTED = 0x1
_READING = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, ValueError, struct.error)
_DATE = (1980, 1, 1, 0, 0, 0)  # the same content gives the same file


def is_taken(content: bytes, suffix: str) -> bool:
    """Whether a reader takes a file of that size."""
    return len(content) <= _MOST[suffix]


class BundleWriter(Closing):
    """Writes a bundle beside `path`, and puts it there when it is finished; leaves nothing if it is not.

    Raises OSError, and zipfile.LargeZipFile for what is too much for one bundle.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._unfinished = path.with_name(f".{path.name}.part")
        self._zip = zipfile.ZipFile(self._unfinished, "w", zipfile.ZIP_DEFLATED, allowZip64=False)
        self._names: set[str] = set()

    def close(self) -> None:
        """What was not finished is gone."""
        with contextlib.suppress(Exception):
            self._zip.close()
        self._unfinished.unlink(missing_ok=True)

    def add(self, content: bytes, suffix: str) -> str:
        """The name under which the content lies in the bundle, once; see `is_taken`."""
        name = hashlib.sha256(content).hexdigest() + suffix
        if name not in self._names:
            self._put(name, content)
            self._names.add(name)
        return name

    def finish(self, manifest: Manifest) -> None:
        """The manifest, last; then the bundle is there."""
        self._put(MANIFEST, to_json(manifest).encode())
        self._zip.close()
        self._unfinished.replace(self._path)

    def _put(self, name: str, content: bytes) -> None:
        info = zipfile.ZipInfo(name, _DATE)
        info.compress_type = zipfile.ZIP_DEFLATED
        self._zip.writestr(info, content)


class Bundle(Closing):
    """An open bundle: its manifest, and its files on demand. `digest` is the whole file's SHA-256.

    Raises `BundleInvalid`, also for a file that cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with contextlib.ExitStack() as opened:
            try:
                self._file = opened.enter_context(path.open("rb"))
                self.digest = self._measured()
                self._zip = opened.enter_context(zipfile.ZipFile(self._file))
                self._members = _checked(self._zip.infolist())
                self.manifest = from_json(self._content(MANIFEST, _MOST_MANIFEST))
                self._check_names()
            except OSError as error:
                raise BundleInvalid(f"it cannot be read ({error.strerror or error})") from None
            except BundleInvalid:
                raise
            except _READING:
                raise BundleInvalid("it is no zip file") from None
            self._opened = opened.pop_all()

    def close(self) -> None:
        """Closes the file."""
        self._opened.close()

    def read(self, member: str) -> bytes:
        """The content of a file that the manifest names."""
        try:
            content = self._content(member, _MOST[member[member.rindex(".") :]])
        except OSError as error:
            raise BundleInvalid(f"it cannot be read ({error.strerror or error})") from None
        if hashlib.sha256(content).hexdigest() != member.partition(".")[0]:
            raise BundleInvalid(f"its file {_short(member)} is not what its name says: it was changed")
        return content

    def _measured(self) -> str:
        """The digest of a file whose end is that of a plain zip file, with a directory of a size that can be."""
        size = self._file.seek(0, 2)
        if size < _END.size:
            raise BundleInvalid("it is empty" if not size else "it is no zip file that `grader bundle` wrote")
        if size > MOST_BYTES:
            raise BundleInvalid(f"it has {size:,} bytes; a bundle has at most {MOST_BYTES:,}")
        self._file.seek(size - _END.size)
        mark, disk, first_disk, here, count, directory, start, comment = _END.unpack(self._file.read(_END.size))
        if mark != _END_MARK or (disk, first_disk, comment) != (0, 0, 0) or here != count or count > MOST_MEMBERS:
            raise BundleInvalid("it is no zip file that `grader bundle` wrote")
        longest = count * (_DIRECTORY_ENTRY + _LONGEST_NAME)
        if not count * _DIRECTORY_ENTRY <= directory <= longest or start + directory + _END.size != size:
            raise BundleInvalid("it is no zip file that `grader bundle` wrote")
        return _digest(self._file)

    def _content(self, name: str, most: int) -> bytes:
        info = self._members.get(name)
        if info is None:
            raise BundleInvalid(f"its file {_short(name)} is missing")
        if info.file_size > most:
            raise BundleInvalid(f"its file {_short(name)} has {info.file_size:,} bytes; at most {most:,} can be")
        try:
            with self._zip.open(info) as stream:
                return stream.read(most)  # no more than `file_size`, whatever was compressed
        except _READING:
            raise BundleInvalid(f"its file {_short(name)} is damaged") from None

    def _check_names(self) -> None:
        """What the manifest names is there, and nothing else."""
        named = {member for entry in self.manifest.entries for member in entry.members} | {MANIFEST}
        for name in named - self._members.keys():
            raise BundleInvalid(f"its file {_short(name)} is missing")
        for name in self._members.keys() - named:
            raise BundleInvalid(f"its file {_short(name)} belongs to no entry")


def _checked(listed: list[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
    """The members by name: each once, of a kind that a bundle has, stored where no other is."""
    members = {info.filename: info for info in listed}
    if len(members) != len(listed):
        raise BundleInvalid("it has two files of one name")
    for info in listed:
        if info.filename != MANIFEST and not info.filename.endswith(SUFFIXES):
            raise BundleInvalid(f"its file {_short(info.filename)} is none that a bundle has")
        if info.flag_bits & _ENCRYPTED or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise BundleInvalid(f"its file {_short(info.filename)} is compressed in a way that `grader bundle` has not")
    placed = sorted(listed, key=lambda info: info.header_offset)
    for info, following in pairwise(placed):
        end = info.header_offset + _LOCAL_HEADER + len(info.filename) + info.compress_size
        if end > following.header_offset:
            raise BundleInvalid("its files lie one in another")
    return members


def _digest(file: BufferedReader) -> str:
    file.seek(0)
    return hashlib.file_digest(file, "sha256").hexdigest()


def _short(name: str) -> str:
    """A member's name as it can be read aloud; it may be hostile."""
    plain = name if name.isprintable() else ascii(name)
    return plain if len(plain) <= 24 else f"{plain[:8]}…{plain[-8:]}"
