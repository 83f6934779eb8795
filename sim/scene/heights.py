"""Files of heights: rows of numbers, and pictures.

numpy and imageio are imported late: only scenes with such files wait for them.
"""

from __future__ import annotations

from typing import Any

PICTURES = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".pgm")

Rows = tuple[tuple[float, ...], ...]


class HeightsError(ValueError):
    """A file that holds no heights; the message says why."""


def rows_of(text: str) -> Rows:
    """Return the numbers of a text, a line a row, between commas, semicolons or blanks; `#` begins a remark.

    Raises
    ------
    HeightsError
        If a word is no finite number, or rows differ in length.
    """
    rows: list[tuple[float, ...]] = []
    for n, line in enumerate(text.removeprefix("\ufeff").splitlines(), start=1):
        words = line.split("#")[0].replace(",", " ").replace(";", " ").split()
        if not words:
            continue
        try:
            row = tuple(float(word) for word in words)
        except ValueError:
            raise HeightsError(f"line {n}: '{line.strip()[:40]}' are no numbers") from None
        if not all(abs(value) < float("inf") for value in row):
            raise HeightsError(f"line {n}: a number that is not finite")
        if rows and len(row) != len(rows[0]):
            raise HeightsError(f"line {n}: {len(row)} numbers, and {len(rows[0])} in the first row")
        rows.append(row)
    return tuple(rows)


def picture_of(data: bytes) -> Rows:
    """Return the brightness of a picture, black 0 and white 1.

    Raises
    ------
    HeightsError
        If it is no picture that can be read.
    """
    import imageio.v3 as imageio
    import numpy as np

    try:
        found: Any = np.asarray(imageio.imread(data, index=0, plugin="pillow"))
    except Exception as error:  # whatever the reader of its format raises
        raise HeightsError("no picture that can be read") from error
    if found.ndim == 3:
        found = found[:, :, : 3 if found.shape[2] >= 3 else 1].mean(axis=2) / _white(found)
    elif found.ndim == 2:
        found = found / _white(found)
    else:
        raise HeightsError("no picture of rows and columns")
    return tuple(tuple(row) for row in found.tolist())


def _white(picture: Any) -> float:
    """Return the number that stands for white."""
    import numpy as np

    if picture.dtype == np.int32:  # how Pillow may hold 16 bits of grey
        return 65535.0
    return float(np.iinfo(picture.dtype).max) if np.issubdtype(picture.dtype, np.integer) else 1.0


def as_csv(rows: Rows) -> str:
    """Return the text of a file of these rows."""
    return "\n".join(",".join(repr(value) for value in row) for row in rows) + "\n"
