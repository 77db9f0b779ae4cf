"""Take orders for a pizza shop: tools that keep state, and the end of a call after the goodbye."""

from voiceagent.agents import Agent, ToolFailed, tool

MENU = {"salami": 9.50, "tuna": 10.00, "margherita": 8.00}


class Orders(Agent):
    """Each call has its own instance, so attributes belong to one caller."""

    greeting = "Pizza Roma, what can I get you?"

    def __init__(self) -> None:
        self.order: dict[str, int] = {}

    def instructions(self) -> str:
        """Return the system prompt. It is read again in each turn, so it may change with the order."""
        menu = ", ".join(f"{name} {price:.2f} euros" for name, price in MENU.items())
        ordered = ", ".join(f"{number} {name}" for name, number in self.order.items()) or "nothing"
        return f"You take orders for a pizza shop. Be brief. Menu: {menu}. Ordered so far: {ordered}."

    @tool
    async def add(self, pizza: str, number: int = 1) -> str:
        """Add pizzas to the order."""
        if pizza not in MENU:
            raise ToolFailed(f"not on the menu; there is {', '.join(MENU)}")
        self.order[pizza] = self.order.get(pizza, 0) + number
        total = sum(MENU[name] * count for name, count in self.order.items())
        return f"added; the order is {total:.2f} euros"

    @tool(when_played=True)
    async def done(self) -> None:
        """Say goodbye first, in the same answer: this ends the call."""
        self.call.hang_up()
