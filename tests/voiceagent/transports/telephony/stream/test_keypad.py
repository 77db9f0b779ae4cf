from __future__ import annotations

from voiceagent.transports.telephony.stream.keypad import MAX_DIGITS, PATIENCE_S, Keypad, entry_text


def test_digits_are_one_entry_until_the_hash_key():
    keypad = Keypad()
    assert [keypad.press(digit, 0.0) for digit in "12#"] == [None, None, "12#"]
    assert keypad.due_s is None


def test_an_entry_without_hash_is_due_after_a_while():
    keypad = Keypad()
    keypad.press("4", 1.0)
    keypad.press("2", 2.0)
    assert keypad.due_s == 2.0 + PATIENCE_S
    assert keypad.take() == "42"
    assert keypad.due_s is None


def test_an_entry_of_the_longest_length_is_complete():
    keypad = Keypad()
    entries = [keypad.press("1", 0.0) for _ in range(MAX_DIGITS)]
    assert entries[-1] == "1" * MAX_DIGITS
    assert set(entries[:-1]) == {None}


def test_the_model_reads_the_digits_apart():
    assert entry_text("42#") == "(The caller pressed 4 2 # on the phone's keypad.)"
