"""Who made a result: a pseudonym unless somebody chooses a name.

A pseudonym is drawn from a key that only its owner's workspace knows, so that it stays the same and tells nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import unicodedata
from dataclasses import dataclass

LONGEST = 40  # characters of a name
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")  # letters and signs, by their category, without any ink

# Numbers of 32 words each: five bits of a digest choose one.
_KINDS = (  # noqa: SIM905 - as a list it would fill the page
    "amber brisk calm candid clever copper coral crisp dapper eager fleet gentle golden hazel honest indigo ivory "
    "jolly keen lively lucid mellow merry nimble patient quiet rapid silver steady sunny velvet wise"
).split()
_ANIMALS = (  # noqa: SIM905 - as a list it would fill the page
    "albatross badger beaver bison bittern crane curlew dolphin dunlin falcon gannet heron ibis jackdaw kestrel "
    "lapwing lynx marten martin merlin osprey otter pelican petrel plover puffin raven redstart sparrow swift teal "
    "wren"
).split()
_NUMBERS = 1000


@dataclass(frozen=True)
class Player:
    """`id`, 16 hexadecimal digits, stays while the name may change."""

    id: str
    name: str


def player_of(key: bytes, who: str = "") -> Player:
    """The pseudonym of `who` among those that the owner of `key` knows; of the owner where it is empty."""
    digest = hmac.digest(key, who.encode(), hashlib.sha256)
    kind, animal = _KINDS[digest[8] % len(_KINDS)], _ANIMALS[digest[9] % len(_ANIMALS)]
    number = int.from_bytes(digest[10:14], "big") % _NUMBERS
    return Player(digest[:8].hex(), f"{kind} {animal} {number:03}")


def why_no_name(name: str) -> str | None:
    """None for a name that can stand on a board; else what is the matter with it, as the end of a sentence."""
    if not name or name != name.strip():
        return "is empty, or begins or ends with a space"
    if len(name) > LONGEST:
        return f"has more than {LONGEST} characters"
    if name != unicodedata.normalize("NFC", name):
        return "is not in Unicode's composed form (NFC)"
    if unicodedata.category(name[0])[0] == "M" or any(map(_is_unseen, name)):  # a mark needs something to stand on
        return "has characters that cannot be seen"
    return None


def _is_unseen(character: str) -> bool:
    return character in _BLANK or (character != " " and unicodedata.category(character)[0] in "CZ")
