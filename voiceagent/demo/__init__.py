"""The bundled demo model: the front desk of one fictional hotel, its data, training and evaluation."""

from pathlib import Path

MATERIAL = Path(__file__).parent / "material"
"""What its callers say, for measurements: made by `python -m voiceagent.demo.make_material`."""
CT2_WEIGHTS = Path(__file__).parent / "weights/ct2"
"""The model in CTranslate2's format."""
