"""Signals: which end a command, with what exit code, and what waits for a pause."""

from __future__ import annotations

import os
import signal

import pytest

from sim.cli.interrupts import Ended, deferred
from sim.cli.outcome import guarded
from tests.support.processes import SIGNALS

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}


@pytest.fixture(autouse=True)
def disposed():
    """Let signals be as in a program that a terminal started; a parent may ignore some."""
    usual = {signal.SIGINT: signal.default_int_handler}
    before = {number: signal.signal(number, usual.get(number, signal.SIG_DFL)) for number in SIGNALS}
    yield
    for number, former in before.items():
        signal.signal(number, former)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_a_command_with_a_sentence(number, capsys):
    assert guarded(lambda: os.kill(os.getpid(), number)) == CODES[number]
    words = "interrupted" if number == signal.SIGINT else f"ended by {number.name}"
    assert capsys.readouterr() == ("", f"{words}\n")
    assert signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_that_the_parent_ignores_is_ignored(number):
    signal.signal(number, signal.SIG_IGN)

    def command() -> int:
        with deferred() as pause:
            pause()
            os.kill(os.getpid(), number)
            pause()
        return 5

    assert guarded(command) == 5
    assert signal.getsignal(number) == signal.SIG_IGN


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_waits_for_the_pause(number):
    seen = []
    with pytest.raises(Ended, match=number.name), deferred() as pause:
        pause()
        os.kill(os.getpid(), number)
        seen.append("kernel")
        pause()
        seen.append("after")
    assert seen == ["kernel"]


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_that_no_pause_follows_acts_at_the_end(number):
    seen = []
    with pytest.raises(Ended, match=number.name):
        with deferred() as pause:
            pause()
            os.kill(os.getpid(), number)
            seen.append("kept")
        seen.append("after")
    assert seen == ["kept"]


@pytest.mark.parametrize("number", SIGNALS)
def test_before_the_first_pause_a_signal_acts_at_once(number):
    with pytest.raises(Ended, match=number.name), deferred():
        os.kill(os.getpid(), number)
        pytest.fail("it went on")


def test_only_a_second_ctrl_c_acts_at_once():
    with pytest.raises(Ended, match="SIGTERM"), deferred() as pause:
        pause()
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGHUP)
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(Ended, match="SIGINT"):
            os.kill(os.getpid(), signal.SIGINT)
        pause()
