"""Typed tasks that capture one thing from the caller, for `AgentCall.ask`.

    email = await self.call.ask(Email("What is your e-mail address?"))

A task parses what was said (`Task.hear`), reads it back and applies corrections; the `Dialogue` is the same
for all tasks. Tasks of your own derive from `Task`.
"""

from voiceagent.agents.capture.addresses import Address, PostalAddress
from voiceagent.agents.capture.amounts import Amount
from voiceagent.agents.capture.choices import Choice, YesNo
from voiceagent.agents.capture.codes import Code
from voiceagent.agents.capture.dates import Date, DateTime, Time
from voiceagent.agents.capture.email import Email
from voiceagent.agents.capture.names import Name
from voiceagent.agents.capture.numbers import Card, PhoneNumber
from voiceagent.agents.capture.task import Circumstances, Heard, Task

__all__ = [
    "Address",
    "Amount",
    "Card",
    "Choice",
    "Circumstances",
    "Code",
    "Date",
    "DateTime",
    "Email",
    "Heard",
    "Name",
    "PhoneNumber",
    "PostalAddress",
    "Task",
    "Time",
    "YesNo",
]
