"""One call's shell: carries the conversation's commands out, from the caller's sound to the agent's."""
