"""A clinic's front desk that hands callers over to a nurse, who has instructions and tools of her own."""

from voiceagent.agents import Agent, tool


class Nurse(Agent):
    """The second agent of the call. What was said so far stays in the history."""

    def __init__(self, patient: str) -> None:
        self.patient = patient
        self.urgent = False

    greeting = "This is the nurse. How can I help?"

    def instructions(self) -> str:
        """Return the nurse's system prompt."""
        return (
            f"You are a nurse on the phone with {self.patient}. Ask about symptoms, one at a time. Be brief."
        )

    @tool
    async def mark_urgent(self, symptom: str) -> str:
        """Mark the call as urgent, with the symptom that makes it so."""
        self.urgent = True
        return f"a doctor calls back within ten minutes about {symptom}"


class FrontDesk(Agent):
    """The first agent of each call."""

    instructions = "You answer the phone of a clinic. Ask for the name. Questions of health go to the nurse."
    greeting = "Lindenhof clinic, who is calling?"

    @tool
    async def connect_to_nurse(self, patient: str) -> None:
        """Connect a patient to the nurse, by name."""
        self.call.hand_over(Nurse(patient))
