"""Fixtures of the front end's tests."""

from __future__ import annotations

import pytest
from front_end_calls import CountingModel


@pytest.fixture
def counting(vad_model) -> CountingModel:
    return CountingModel(vad_model)
