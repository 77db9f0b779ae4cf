"""Callers' questions and their answers, generated from phrasings and facts."""
