from __future__ import annotations

import pytest

from voiceagent.bench.turns import PARTS, is_on, parse_parts, turned, variants
from voiceagent.config.tables import Config
from voiceagent.engines.config import EngineConfig
from voiceagent.llm.config import LlmEngineConfig
from voiceagent.validation.errors import CommandFailed

ENGINE = EngineConfig(engine="any")
CONFIG = Config(recognizer=ENGINE, llm=LlmEngineConfig(engine="any"), synthesizer=ENGINE)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("on", [True, False])
def test_a_part_can_be_turned_on_and_off_and_the_others_stay(part, on):
    changed = turned(CONFIG, part, on)
    assert is_on(changed, part) is on
    others = [other for other in PARTS if other != part]
    assert [is_on(changed, other) for other in others] == [is_on(CONFIG, other) for other in others]


def test_a_comparison_has_the_configuration_and_each_part_the_other_way():
    made = variants(CONFIG, PARTS)
    assert made[0].config is CONFIG
    assert [(one.part, one.is_on) for one in made[1:]] == [(part, not is_on(CONFIG, part)) for part in PARTS]
    assert [one.name for one in made[:2]] == ["as configured", "preemptive off"]


def test_parts_are_named_with_commas_between_them():
    assert parse_parts("semantic, preemptive") == ("semantic", "preemptive")
    assert parse_parts("") == ()


def test_an_unknown_part_is_refused_with_those_that_there_are():
    with pytest.raises(CommandFailed, match=r"'magic' is no part.*preemptive, prefill_while_speaking"):
        parse_parts("semantic,magic")
