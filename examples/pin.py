"""Check a PIN that the caller presses or says digit by digit. The digits never reach the model."""

from hmac import compare_digest

from voiceagent.agents import Agent, ToolFailed, tool

PINS = {"+15550123": "4821"}
MAX_TRIES = 3


class Bank(Agent):
    """The phone line sends the caller's number as `from`."""

    instructions = "You work for a bank. Before you say anything about an account, call check_pin."
    greeting = "Hill Bank, good morning."

    def __init__(self) -> None:
        self.known = False
        self.tries = 0

    @tool(timeout_s=120)
    async def check_pin(self) -> str:
        """Ask the caller for the PIN. Do not ask for it yourself."""
        pin = PINS.get(self.call.parameters.get("from", ""), "")
        while self.tries < MAX_TRIES:
            self.tries += 1
            prompt = "Please enter your PIN." if self.tries == 1 else "That was not it. Once more, please."
            entered = await self.call.collect_digits(prompt, count=4, private=True)
            if pin and compare_digest(entered, pin):
                self.known = True
                return "the PIN is right"
        raise ToolFailed("the PIN was wrong three times; say that the bank will write a letter")

    @tool
    async def balance(self) -> str:
        """Return the balance of the account."""
        if not self.known:
            raise ToolFailed("call check_pin first")
        return "1042 dollars and 50 cents"
