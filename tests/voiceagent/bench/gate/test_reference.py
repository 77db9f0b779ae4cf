from __future__ import annotations

import asyncio

import pytest

from voiceagent.bench.gate.reference import WRITTEN_TOKENS, Reference
from voiceagent.demo import CT2_WEIGHTS
from voiceagent.validation.errors import CommandFailed


async def test_a_piece_of_work_writes_as_many_tokens_each_time():
    reference = Reference(CT2_WEIGHTS)
    await reference.start()
    pieces = await asyncio.gather(reference.work(), reference.work(), reference.work(3))
    await reference.close()
    assert [len(each.stamps) - 1 for each in pieces] == [WRITTEN_TOKENS, WRITTEN_TOKENS, 3]
    assert all(each.stamps == sorted(each.stamps) for each in pieces)


async def test_a_folder_without_a_model_is_named(tmp_path):
    reference = Reference(tmp_path)
    with pytest.raises(CommandFailed, match=f"{tmp_path}: cannot load the reference"):
        await reference.start()
    await reference.close()
