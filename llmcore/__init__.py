"""The language model: engines, prompts and the policies that make a reply start sooner.

Nothing here knows of calls or sound.
"""
