"""Token search, and splitting of growing audio."""
