"""Production-like load for the LLM: when callers speak, what they say, and where they interrupt.

A trace is a folder of kept calls (`[calls] folder`), or a TOML file that describes calls (`distribution`).
"""
