"""The bundled demo model: front desk of a fictional hotel, with its data, training and evaluation."""

from pathlib import Path

MATERIAL = Path(__file__).parent / "material"
"""Callers' words for benchmarks, written by `python -m voiceagent.demo.make_material`."""
CT2_WEIGHTS = Path(__file__).parent / "weights/ct2"
"""The model in CTranslate2's format."""
