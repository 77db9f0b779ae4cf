from __future__ import annotations

from examples.hotel_model.data.labelled import labelled_set
from examples.hotel_model.make_material import main, material
from voiceagent.bench.material import FILES, Material
from voiceagent.demo import MATERIAL


def test_the_shipped_material_is_what_the_command_writes(tmp_path):
    main(["--out", str(tmp_path)])
    assert sorted(material()) == sorted(FILES)
    for name in FILES:
        assert (MATERIAL / name).read_bytes() == (tmp_path / name).read_bytes(), f"{name}: make it anew"


def test_the_shipped_material_can_be_read():
    shipped = Material(MATERIAL)
    assert len(shipped.labelled()) == len(labelled_set())
    assert len(shipped.questions()) == 16 and len(shipped.conversations()) == 500
    assert shipped.speech()


def test_the_labelled_answers_are_right_by_the_material_alone():
    for item, shipped in zip(labelled_set(), Material(MATERIAL).labelled(), strict=True):
        assert (shipped.must, shipped.must_not, shipped.outside) == (item.must, item.must_not, item.outside)
        assert shipped.messages[-1].content == item.question
