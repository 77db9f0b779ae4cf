from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from voiceagent.config.tables import load
from voiceagent.engines import build, catalogue
from voiceagent.engines.build import build_engine
from voiceagent.engines.catalogue import Stage
from voiceagent.engines.config import EngineConfig
from voiceagent.engines.timeouts import TimeoutsConfig
from voiceagent.validation.errors import ConfigError

MODULE = """
from __future__ import annotations
from dataclasses import dataclass
import tomllib
from pathlib import Path
from typing import Any, Literal

class Answers:
    async def generate(self, request):
        yield "never asked"

class Plain(Answers):
    def __init__(
        self,
        rate_hz: int,
        kind: Literal["a", "b"] = "a",
        gain: float = 1.0,
        place: Path | None = None,
        parts: tuple[str, ...] = (),
        extra: dict[str, Any] | None = None,
    ) -> None:
        if rate_hz < 0:
            raise ValueError(f"rate_hz is {rate_hz}; it must not be negative")
        self.given = dict(rate_hz=rate_hz, kind=kind, gain=gain, place=place, parts=parts, extra=extra)

@dataclass
class Data(Answers):
    size: int = 3

@dataclass
class Kind(Answers):
    kind: Literal["a", "b"] = "a"

class Open(Answers):
    def __init__(self, **options: Any) -> None:
        self.options = options

def function() -> None: ...
"""


@pytest.fixture
def engine(tmp_path: Path):
    """Build the engine of a table in a configuration whose folder holds the module of engines."""
    (tmp_path / "engines_of_test.py").write_text(MODULE)
    (tmp_path / "model.bin").touch()

    def engine(table: str) -> Any:
        path = tmp_path / "test.toml"
        others = (
            '[recognizer]\nengine = "engines_of_test:Data"\n[synthesizer]\nengine = "engines_of_test:Data"\n'
        )
        path.write_text(f"{others}[llm]\n{table}\n")
        config = load(path)
        return build_engine("llm", config.llm, config.source)

    return engine


def test_a_class_beside_the_configuration_is_found_by_its_name(engine):
    assert type(engine('engine = "engines_of_test:Data"')).__name__ == "Data"


def test_the_other_keys_are_its_keyword_arguments(engine):
    given = engine('engine = "engines_of_test:Plain"\nrate_hz = 8000\ngain = 2\nparts = ["a"]').given
    assert given["rate_hz"] == 8000
    assert given["gain"] == 2.0
    assert given["parts"] == ("a",)
    assert given["kind"] == "a"


def test_a_dataclass_is_an_engine_like_any_other(engine):
    assert engine('engine = "engines_of_test:Data"\nsize = 5').size == 5


def test_an_engine_may_inherit_its_keywords_from_another_module(engine, tmp_path):
    (tmp_path / "heirs_of_test.py").write_text(
        "from dataclasses import dataclass\nfrom engines_of_test import Kind\n"
        "@dataclass\nclass Heir(Kind):\n    more: int = 0\n"
    )
    assert engine('engine = "heirs_of_test:Heir"\nkind = "b"').kind == "b"


def test_a_class_that_takes_any_keyword_gets_all_of_them(engine):
    assert engine('engine = "engines_of_test:Open"\na = 1\nb = {c = 2}').options == {"a": 1, "b": {"c": 2}}


def test_paths_count_from_the_configuration_also_inside_tables(engine, tmp_path):
    table = 'engine = "engines_of_test:Plain"\nrate_hz = 1\nplace = "./model.bin"'
    given = engine(table + '\nextra = {model = "./model.bin"}').given
    assert given["place"] == tmp_path / "model.bin"
    assert given["extra"] == {"model": str(tmp_path / "model.bin")}


def test_a_path_may_lie_in_an_installed_package(engine):
    table = 'engine = "engines_of_test:Plain"\nrate_hz = 1\nplace = "package:voiceagent/engines/build.py"'
    assert engine(table).given["place"] == Path(build.__file__)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (
            'engine = "nothing"',
            "llm.engine = 'nothing': no such engine; allowed: "
            "ctranslate2, llamacpp, vllm, openai, anthropic, or",
        ),
        (
            'engine = "no_such_module:Class"',
            "llm.engine = 'no_such_module:Class': cannot be imported: No module",
        ),
        (
            'engine = "engines_of_test:Nothing"',
            "llm.engine = 'engines_of_test:Nothing': cannot be imported: module",
        ),
        ('engine = "a b:C"', "llm.engine = 'a b:C': cannot be imported: not of the form package.module:name"),
        ('engine = "engines_of_test:function"', "llm.engine = 'engines_of_test:function': not a class"),
        ('engine = "engines_of_test:Data"\nsiz = 1', "llm.siz = 1: unknown key; allowed: size"),
        ('engine = "engines_of_test:Data"\nsize = "1"', "llm.size = '1': allowed: a valid integer"),
        ('engine = "engines_of_test:Plain"', "llm.rate_hz: missing; it must be set"),
        ('engine = "engines_of_test:Plain"\nrate_hz = -1', "rate_hz is -1; it must not be negative"),
        (
            'engine = "engines_of_test:Plain"\nrate_hz = 1\nkind = "c"',
            "llm.kind = 'c': allowed: 'a' or 'b'",
        ),
        (
            'engine = "engines_of_test:Plain"\nrate_hz = 1\nplace = "x"',
            "llm.place = 'x': not a path; allowed: ./ or",
        ),
        (
            'engine = "engines_of_test:Plain"\nrate_hz = 1\nplace = "/no/x"',
            "llm.place = '/no/x': no such file",
        ),
        ('engine = "engines_of_test:Data"\nsize = "./no"', "llm.size = './no': no such file or folder: /"),
        ('engine = "engines_of_test:Data"\nsize = "package:no.such/x"', "no such package: no.such"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused_in_one_line(engine, table, said):
    with pytest.raises(ConfigError) as refused:
        engine(table)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_an_engine_not_installed_is_refused_with_the_command(engine, monkeypatch):
    monkeypatch.setattr(catalogue, "find_spec", lambda module: None)
    with pytest.raises(
        ConfigError, match=r"llm\.engine = 'vllm': not installed; install it with: pip install"
    ):
        engine('engine = "vllm"')


@pytest.mark.parametrize(
    ("stage", "table", "told"),
    [
        (
            "synthesizer",
            'engine = "espeak"\nvoice = "xx"',
            r"synthesizer.voice = 'xx': .*allowed: .*\ben-us\b",
        ),
        ("synthesizer", 'engine = "espeak"\nvoice = "de+zz9"', r"synthesizer.voice = .*allowed: .*\bf5\b"),
        ("synthesizer", 'engine = "espeak"\npitch = 101', "synthesizer.pitch = 101: .*allowed: 0 to 100"),
        (
            "synthesizer",
            'engine = "piper"\nvoice = "amy"',
            "synthesizer.voice = 'amy': .*'en_US-lessac-medium'",
        ),
        (
            "synthesizer",
            'engine = "piper"\nvoice = "./v.onnx"\nspeaker = 3',
            "speaker = 3: allowed.*: 0 to 1",
        ),
        ("recognizer", 'engine = "whisper"\nmodel = "tinny"', "recognizer.model = 'tinny': allowed: .*tiny"),
        (
            "recognizer",
            'engine = "whisper"\nmodel = "tiny"\nlanguage = "xx"',
            "language = 'xx': .*allowed: .*en",
        ),
        ("recognizer", 'engine = "whisper"\nmodel = "tiny"\ndevice = "gpu"', "device = 'gpu': .*'cuda'"),
        (
            "recognizer",
            'engine = "whisper"\nmodel = "tiny"\ncompute_type = "int3"',
            "compute_type = .*'int8'",
        ),
        ("llm", 'engine = "ctranslate2"\nmodel = "."\ncompute_type = "int3"', "compute_type = .*'int8'"),
    ],
)
def test_what_an_engine_does_not_have_is_refused_before_its_start(
    tmp_path: Path, stage: Stage, table: str, told: str
) -> None:
    (tmp_path / "v.onnx").touch()
    (tmp_path / "v.onnx.json").write_text('{"num_speakers": 2}')
    options = tomllib.loads(table)
    with pytest.raises(ConfigError, match=told):
        build_engine(stage, EngineConfig(engine=options.pop("engine"), **options), tmp_path / "own.toml")


def test_the_voice_of_a_language_is_found_by_each_of_its_codes(tmp_path: Path) -> None:
    for voice in ("en", "en-gb", "EN-US", "no", "zh", "gmw/de", "pt-br+f2"):
        build_engine("synthesizer", EngineConfig(engine="espeak", voice=voice), tmp_path / "own.toml")


def test_a_command_waits_for_an_engine_that_computes_as_long_as_a_server_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    supervised = []
    monkeypatch.setattr(
        build, "HostedSynthesizer", lambda _, __, *, supervision: supervised.append(supervision)
    )
    build_engine("synthesizer", EngineConfig(engine="espeak"), tmp_path / "own.toml")
    assert supervised == [TimeoutsConfig().of_engines()]
