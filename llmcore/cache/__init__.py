"""The semantic cache: a question that was answered before is answered with the same words."""
