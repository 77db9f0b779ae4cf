"""Policy of the semantic cache: cacheable questions, choice of entries, quality control."""
