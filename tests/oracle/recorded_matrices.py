"""What an H200 made of products of matrices and of their fragments: results/h200/matrices.npz, written and read.

Of each group of tiles the file has the first ones, and the digest of all.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FILE = Path(__file__).parent.parent.parent / "results" / "h200" / "matrices.npz"
TILES, KEPT = 24, 3
Array = NDArray[Any]


def digest(tiles: Array) -> str:
    """Of the bits of all tiles, as they lie in memory."""
    return hashlib.sha256(np.ascontiguousarray(tiles).tobytes()).hexdigest()[:16]


def packed(about: Mapping[str, str], products: Mapping[str, Array], fragments: Mapping[str, Array]) -> dict[str, Array]:
    """The arrays of the file."""
    head = json.dumps({"about": about, "digests": {name: digest(tiles) for name, tiles in products.items()}})
    kept = {name: tiles[:KEPT] for name, tiles in products.items()}
    return {"head": np.array(head), **kept, **fragments}


class Matrices:
    """The file: `arrays`, by "FORM GROUP" or by the name of a fragment, and `digests` by "FORM GROUP"."""

    def __init__(self, file: Path = FILE) -> None:
        with np.load(file) as archive:
            self.arrays: dict[str, Array] = {name: archive[name] for name in archive.files if name != "head"}
            head = json.loads(str(archive["head"]))
        self.about: dict[str, str] = head["about"]
        self.digests: dict[str, str] = head["digests"]


@functools.cache
def matrices() -> Matrices:
    return Matrices()
