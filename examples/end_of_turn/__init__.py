"""Training of the features that tell the end of a turn; `voiceagent.conversation.end_of_turn` uses them."""
