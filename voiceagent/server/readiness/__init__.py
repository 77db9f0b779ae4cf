"""Checks of what a start would miss, without starting: `voiceagent check`."""
