"""Calls to an agent for its tests: typed, without sound, or spoken by real engines.

`TestCall` is the call: `call` has what a test does and expects, `scripted_model` what the model answers,
`mocks` the tools that the test answers itself, and `virtual_clock` a time that nothing waits for.
"""

from voiceagent.testing.call import TestCall
from voiceagent.testing.scripted_model import Calls, RehearsedModel, ScriptedModel

__all__ = ["Calls", "RehearsedModel", "ScriptedModel", "TestCall"]
