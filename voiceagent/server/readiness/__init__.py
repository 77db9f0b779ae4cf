"""What a start would miss, found without starting: `voiceagent check`."""
