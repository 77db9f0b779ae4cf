"""Access control and admission: keys, client secrets, limits per caller, slots for calls."""
