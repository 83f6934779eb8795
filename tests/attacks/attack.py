"""One bad input: what is typed behind `sim`, and from what it can be made again."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Attack:
    """Arguments of `sim`; the files that they name lie in the folder that the attack was made for.

    Attributes
    ----------
    kind : str
        The module of `tests.attacks` that made it.
    seed : int
        ``attacks(seed, 1, folder)`` of that module makes it again.
    arguments : tuple of str
        What is typed behind `sim`, in that folder.
    about : str
        What is bad about it, in a few words.
    """

    kind: str
    seed: int
    arguments: tuple[str, ...]
    about: str
