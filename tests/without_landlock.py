"""Runs a command as on a kernel without Landlock: a seccomp filter answers its three system calls with ENOSYS.

python without_landlock.py COMMAND ARGUMENT...
"""

import ctypes
import errno
import os
import struct
import sys

_LOAD_NUMBER = struct.pack("<HBBI", 0x20, 0, 0, 0)
_ALLOW = struct.pack("<HBBI", 0x06, 0, 0, 0x7FFF0000)
_REFUSE = struct.pack("<HBBI", 0x06, 0, 0, 0x00050000 | errno.ENOSYS)
_FIRST, _LAST = 444, 446  # the same on every architecture
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _FILTER = 38, 22, 2


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def forget_landlock() -> None:
    """Install the filter, for this process and all that it starts."""
    at_least = struct.pack("<HBBI", 0x35, 0, 2, _FIRST)
    above = struct.pack("<HBBI", 0x25, 1, 0, _LAST)
    code = _LOAD_NUMBER + at_least + above + _REFUSE + _ALLOW
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    libc = ctypes.CDLL(None, use_errno=True)
    none = ctypes.c_ulong(0)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), none, none, none) != 0:
        raise OSError(ctypes.get_errno(), "no_new_privs")
    if libc.prctl(_PR_SET_SECCOMP, ctypes.c_ulong(_FILTER), ctypes.byref(program), none, none) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")


if __name__ == "__main__":
    forget_landlock()
    os.execv(sys.argv[1], sys.argv[1:])
