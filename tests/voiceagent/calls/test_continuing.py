"""The end of a kept call, from which another continues."""

from __future__ import annotations

from pathlib import Path

import pytest
from kept_folder import conversation, keep_one, log_in, store_of

from voiceagent.calls.continuing import CannotContinue, continued, find_ended
from voiceagent.calls.replaying.replay import continuation


def test_continuation_has_the_items_and_settings_of_the_end(tmp_path: Path) -> None:
    keep_one(tmp_path)
    end, original = continuation(log_in(tmp_path)), conversation().conversation
    assert list(end.items) == original.history.items
    assert end.settings == original.settings


def test_ended_call_is_found_and_no_other(tmp_path: Path) -> None:
    keep_one(tmp_path)
    store = store_of(tmp_path)
    call = find_ended(store, "call_1")
    assert call is not None
    assert continued(call).items
    assert find_ended(store, "call_2") is None


def test_call_without_texts_cannot_be_continued(tmp_path: Path) -> None:
    keep_one(tmp_path, personal_data="redact")
    call = find_ended(store_of(tmp_path), "call_1")
    assert call is not None
    with pytest.raises(CannotContinue, match="personal_data"):
        continued(call)
