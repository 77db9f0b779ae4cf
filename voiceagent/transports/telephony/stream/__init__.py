"""What comes over a phone line, in any provider's words: messages, order, gaps, keys, marks. Pure."""
