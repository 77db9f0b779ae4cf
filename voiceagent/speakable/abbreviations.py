"""Abbreviations and what they stand for."""

from __future__ import annotations


def needs_follower(word: str, language: str) -> bool:
    """Whether a word that ends in a full stop is an abbreviation after which no sentence ends."""
    return False
