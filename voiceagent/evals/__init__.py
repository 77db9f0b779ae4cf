"""Simulated callers of an agent: scenarios, checks, judges, pass rates and comparisons.

`scenario` is the format of a scenario file, `folder` reads a folder of them. `caller` decides what is said
next. `callable_agent` makes a call, typed or by sound (`sound_call`, `delivery`), in virtual time
(`virtual_engines`), and returns a `record` of it. `checks` and `judge` decide whether the call passed. `runs`
makes many calls in parallel processes; `comparison` finds what changed between two configurations, by the
`exact_tests`.
"""
