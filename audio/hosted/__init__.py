"""What engines behind somebody's server share: the key, time limits, further tries."""
