"""Calls to an agent for its tests: typed, without sound, or spoken by real engines."""

from voiceagent.testing.call import TestCall
from voiceagent.testing.scripted_model import Calls, RehearsedModel, ScriptedModel

__all__ = ["Calls", "RehearsedModel", "ScriptedModel", "TestCall"]
