"""Teaches Moonshine the voices and lines of your callers, from recordings of them (`adapt`)."""
