"""Calls to an agent for its tests: typed, without audio, or spoken by real engines.

`TestCall` is the call. `call` holds actions and expectations of a test, `scripted_model` the model's
answers, `mocks` the mocked tools, and `virtual_clock` a clock without waiting.
"""

from voiceagent.session.agent import OutboundDetails
from voiceagent.testing.call import TestCall
from voiceagent.testing.scripted_model import Calls, RehearsedModel, ScriptedModel

__all__ = ["Calls", "OutboundDetails", "RehearsedModel", "ScriptedModel", "TestCall"]
