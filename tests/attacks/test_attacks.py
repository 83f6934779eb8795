"""A few of the attacks of `python -m tests.attacks` in this process, and that their judge sees what is bad."""

from __future__ import annotations

import importlib

import pytest

from sim.cli.main import main
from sim.kernels import jit
from tests.attacks.__main__ import kinds
from tests.attacks.attack import Attack
from tests.attacks.trial import Ending, faults

LOOKS = ("check", "list", "schema")  # what needs no kernels


def attack_of(kind: str, seed: int, folder) -> Attack:
    (attack,) = importlib.import_module(f"tests.attacks.{kind}").attacks(seed, 1, folder)
    return attack


def test_there_are_kinds():
    assert {"scenes", "numbers", "repeats", "names", "options", "formulas"} <= set(kinds())


@pytest.mark.parametrize("kind", ["scenes", "numbers", "repeats", "names", "options", "formulas"])
def test_a_sample_ends_with_sentences(kind, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(jit, "interpret", lambda: None)
    monkeypatch.setattr("sim.cli.checking._wants_compiled", lambda scene: False)
    tried = 0
    for seed in range(40):
        attack = attack_of(kind, seed, tmp_path)
        if attack.arguments[0] not in LOOKS or tried == 12:
            continue
        tried += 1
        code = main(list(attack.arguments))
        printed = capsys.readouterr()
        assert not faults(attack, Ending(code, printed.out, printed.err, 0.0)), attack
    assert tried >= 3


# Those that ended badly once and take no run.
@pytest.mark.parametrize(("kind", "seed"), [("options", 494), ("options", 595), ("options", 1085), ("options", 1405)])
def test_what_ended_badly_once_ends_with_a_sentence(kind, seed, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    attack = attack_of(kind, seed, tmp_path)
    code = main(list(attack.arguments))
    printed = capsys.readouterr()
    assert code == 2 and not faults(attack, Ending(code, printed.out, printed.err, 0.0)), attack


def test_a_quoted_argument_and_a_line_in_json_are_places():
    attack = Attack("options", 1, ("plot", ""), "")
    assert not faults(attack, Ending(2, "", "'.' is a folder, not a recording", 0.0))
    assert faults(attack, Ending(2, "", "it is a folder. No more", 0.0)) == ["refused without a place"]
    assert not faults(attack, Ending(2, '{"line": 9}', "", 0.0))


def test_an_attack_is_made_again_from_its_seed(tmp_path):
    for kind in ("scenes", "numbers", "names", "formulas", "repeats"):
        made = []
        for _ in range(2):
            attack = attack_of(kind, 7, tmp_path)
            made.append((attack, sorted((path.name, path.read_bytes()) for path in tmp_path.glob("*.yaml"))))
        assert made[0] == made[1]


@pytest.mark.parametrize(
    ("ending", "fault"),
    [
        (Ending(None, "", "", 10.0), "no end within 10 s"), (Ending(70, "", "bad.yaml", 0.0), "exit code 70"),
        (Ending(-11, "", "", 0.0), "exit code -11"), (Ending(1, "", "", 0.0), "exit code 1"),
        (Ending(0, "Traceback (most recent call last)", "", 0.0), "a traceback is printed"),
        (Ending(0, "a\x1b[31m\u202e", "", 0.0), "prints U+001B U+202E"), (Ending(0, "", "a\r", 0.0), "prints U+000D"),
        (Ending(2, "", "it is wrong", 0.0), "refused without a place"),
        (Ending(3, "", "it is wrong", 0.0), "refused without a place"),
    ],
)  # fmt: skip
def test_the_judge_sees_what_is_bad(ending, fault):
    assert faults(Attack("scenes", 1, ("check", "bad.yaml"), ""), ending) == [fault]


@pytest.mark.parametrize(
    "ending",
    [
        Ending(0, "fine\n\t", "", 9.0), Ending(2, "bad.yaml:2:3: mass: no", "", 0.0), Ending(2, "", "--size: 'x' is",
        0.0),
        Ending(2, "", "sim run: missing argument", 0.0), Ending(3, "", "t = 0.3 s: stopped", 0.0),
        Ending(5, "does not hold", "", 0.0), Ending(2, "", "there is no file 'bad.yaml'", 0.0),
    ],
)  # fmt: skip
def test_and_what_is_fine(ending):
    assert faults(Attack("scenes", 1, ("check", "bad.yaml"), ""), ending) == []
