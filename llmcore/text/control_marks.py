"""Marks that models write around text that must not be spoken: thoughts, tool calls, roles of a chat format.

Comments name the model families. The marks come from the models' own chat templates and from the parsers of
vLLM, SGLang and llama.cpp.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal

Kind = Literal["thought", "call", "header", "dropped", "unopened", "words"]
"""Region that a mark opens: a thought, a call, a header of the harmony format, text that is left out, or
words in which no other region begins.

"unopened": the end of a thought without a beginning in the text.
"""


@dataclass(frozen=True, slots=True)
class Region:
    """Text between an opening mark and the first of `closings`.

    limits: marks that also end it, but belong to the following text. opening: the fixed part of its opening
    mark.
    """

    kind: Kind
    closings: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    opening: str = ""

    @property
    def end_pattern(self) -> re.Pattern[str]:
        """Pattern of the region's end. It never matches for a region without end marks."""
        return _end_pattern((*self.closings, *self.limits))

    def text_start(self, end: re.Match[str]) -> int:
        """Return the position at which the text after the region begins. end: match of `end_pattern`."""
        return end.end() if end[0].lower() in self.closings else end.start()


@cache
def _end_pattern(marks: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, marks)) if marks else r"(?!)", re.IGNORECASE | re.ASCII)


_HY_SUFFIXES = (":opensource", ":6124c78e")
"""Suffixes of the names of marks in Hy 3 and 4 (Hunyuan), by checkpoint."""
_THOUGHTS = {
    "<think>": "</think>",  # DeepSeek R1, Qwen 3, MiniMax, Nemotron, Phi 4 and most others
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",  # EXAONE
    "<thoughts>": "</thoughts>",
    "<reason>": "</reason>",
    "<reasoning>": "</reasoning>",
    "<reasoning_content>": "</reasoning_content>",
    "<|think|>": "<|/think|>",
    "<|thinking|>": "<|/thinking|>",
    "<reflection>": "</reflection>",
    "<scratchpad>": "</scratchpad>",
    "<analysis>": "</analysis>",
    "<inner_monologue>": "</inner_monologue>",
    "<inner_thoughts>": "</inner_thoughts>",
    "<internal>": "</internal>",
    "<planning>": "</planning>",
    "<plan>": "</plan>",
    "<antthinking>": "</antthinking>",  # Claude 3
    "[thinking]": "[/thinking]",
    "<seed:think>": "</seed:think>",  # Seed-OSS
    "[think]": "[/think]",  # Magistral
    "<|start_thinking|>": "<|end_thinking|>",  # Command A
    "<|inner_prefix|>": "<|inner_suffix|>",  # Apertus
    "<|begin_of_thought|>": "<|end_of_thought|>",  # Sky-T1
    "◁think▷": "◁/think▷",  # Kimi
    "<|channel>": "<channel|>",  # Gemma 4
    "<|open|>think<|sep|>": "<|close|>think<|sep|>",  # Kimi K3
    "<mm:think>": "</mm:think>",  # MiniMax M3
    "<ifm|think>": "</ifm|think>",  # K2 Horizon, by effort
    "<ifm|think_fast>": "</ifm|think_fast>",
    "<ifm|think_faster>": "</ifm|think_faster>",
    **{f"<think{suffix}>": f"</think{suffix}>" for suffix in _HY_SUFFIXES},
}
LINE_STARTS = frozenset(("<plan>", "<planning>", "<internal>"))
"""Marks that are words within a line."""
SENTENCE_STARTS = frozenset(
    (
        *("<tool>", "<tools>", "<execute>", "[tool]", "[think]", "[thinking]", "<reason>", "<reasoning>"),
        *("<thought>", "<thoughts>", "<reflection>", "<analysis>", "<scratchpad>"),
    )
)
"""Marks that are words within a sentence, unless a call follows: "The <tool> element holds the name"."""
_WORDS = frozenset(f"{mark[0]}/{mark[1:]}" for mark in (*LINE_STARTS, *SENTENCE_STARTS))


def may_be_word(mark: str, before: str, ends_sentence: bool) -> bool:
    """Return True for marks that may be words. before: the last character. ends_sentence: one has ended."""
    mark = mark.lower()
    if mark in LINE_STARTS:
        return before not in ("", "\n")
    return mark in SENTENCE_STARTS | _WORDS and not ends_sentence


MAX_INNER_THOUGHT = 600
"""Length in characters up to which the end of a thought within a sentence is looked for."""
_NO_BEGINNING = re.compile(
    r"\W*(?:and|or|is|are|to|in|und|oder|ist|y|o|es|tags?|elements?|marks?)\b|\s*[^\s\w]", re.IGNORECASE
)
"""Text behind a mark that is a word: "Open with <thought> and close with </thought>"."""
_NO_THOUGHT = re.compile(
    r".*\b(?:and|or|with|by|und|oder|mit|y|o|con)\s*\Z|\W*\w*\W*\Z", re.IGNORECASE | re.DOTALL
)
"""Text between two marks that are words: its end asks for the second mark, or it is one word."""


def is_inner_thought(mark: str, behind: str, ended: bool) -> bool | None:
    """Return True if a thought stands within a sentence, None if more text is needed: it has an end, and the
    sentence goes on after it. mark: its beginning. behind: the text behind. ended: there is no more text.
    """
    if mark.lower() not in SENTENCE_STARTS:
        return False
    begins = _NO_BEGINNING.match(behind)
    if begins and (ended or begins.end() < len(behind)):  # without its next character, a word may go on
        return False
    end = REGIONS[mark.lower()].end_pattern.search(behind[:MAX_INNER_THOUGHT])
    if end is None:
        return False if ended or len(behind) >= MAX_INNER_THOUGHT else None
    if _NO_THOUGHT.match(behind[: end.start()]):
        return False
    after = behind[end.end() :].lstrip()
    if not after:
        return ended or None
    return after[0] not in ".,;:!?)\"'"


_CLAUDE = "antml:"
MINIMAX = "]<]minimax[>["
"""Text that MiniMax M3 writes before each mark."""
_CALLS = {
    "<tool_call>": "</tool_call>",  # Hermes, Qwen, GLM, Nemotron
    "<tool_calls>": "</tool_calls>",  # Jamba, Hunyuan
    "<toolcall>": "</toolcall>",  # Nemotron 4
    "<tool_code>": "</tool_code>",
    "<seed:tool_call>": "</seed:tool_call>",  # Seed-OSS
    "<tool_use>": "</tool_use>",
    "<tool>": "</tool>",
    "<tools>": "</tools>",
    "<execute>": "</execute>",
    "<tool name=": "</tool>",
    "[tool_request]": "[end_tool_request]",  # LM Studio
    "[tool]": "[/tool]",
    "<function_call>": "</function_call>",
    "<function_calls>": "</function_calls>",  # Olmo 3
    "<functioncall>": "</functioncall>",
    "<function=": "</function>",  # Llama 3.1, Qwen 3 Coder
    "<function(": "</function>",
    "<function name=": "</function>",
    "<__function=": "</__function>",  # Nova
    "<invoke name=": "</invoke>",  # MiniMax M2
    f"<{_CLAUDE}invoke name=": f"</{_CLAUDE}invoke>",
    f"<{_CLAUDE}function_calls>": f"</{_CLAUDE}function_calls>",
    "<tool_call name=": "</tool_call>",
    "<tool_use name=": "</tool_use>",
    "<function_call name=": "</function_call>",
    "<minimax:tool_call>": "</minimax:tool_call>",
    "<|tool_call|>": "<|/tool_call|>",  # Phi 4 mini, Granite
    "<|tool_call>": "<tool_call|>",  # Gemma 4
    "<start_function_call>": "<end_function_call>",  # FunctionGemma
    "<|tool_call_start|>": "<|tool_call_end|>",  # LFM 2
    "<|start_action|>": "<|end_action|>",  # Command R and A
    "<|tool_call_begin|>": "<|tool_call_end|>",  # Kimi K2
    "<｜tool▁call▁begin｜>": "<｜tool▁call▁end｜>",  # DeepSeek V3
    "<｜dsml｜function_calls>": "</｜dsml｜function_calls>",  # DeepSeek V3.2
    "<｜dsml｜tool_calls>": "</｜dsml｜tool_calls>",  # DeepSeek V4, which also misspells it
    "<｜dsml｜toolcalls>": "</｜dsml｜tool_calls>",
    "<｜dsml｜tool>": "</｜dsml｜tool_calls>",
    "<｜dsml｜ calls>": "</｜dsml｜ calls>",  # DeepSeek V4.1
    "<｜gcml｜tool_calls>": "</｜gcml｜tool_calls>",  # GigaChat 3.5
    "<longcat_tool_call>": "</longcat_tool_call>",
    "<iquest_tool_call>": "</iquest_tool_call>",
    "<dots_function_call>": "</dots_function_call>",
    "<ifm|tool_call>": "</ifm|tool_call>",  # K2 Horizon
    **{f"<tool_call{suffix}>": f"</tool_call{suffix}>" for suffix in _HY_SUFFIXES},
    f"{MINIMAX}<tool_call>": f"{MINIMAX}</tool_call>",
    "<|tool_call:begin|>": "<|tool_call:end|>",  # Solar Open
    "<|content_invoke_tool_json|>": "<|end_message|>",  # Inkling
    "<steptml:invoke name=": "</steptml:invoke>",  # Step 3
    "<｜tool_call_begin｜>": "<｜tool_call_end｜>",
    "<atem:function_calls>": "</atem:function_calls>",  # Muse
    "<use_mcp_tool>": "</use_mcp_tool>",  # Cline
    "<|open|>tools<|sep|>": "<|close|>tools<|sep|>",  # Kimi K3
    "<|tools_prefix|>": "<|tools_suffix|>",  # Apertus
    "<|plamo:begin_tool_requests:plamo|>": "<|plamo:end_tool_requests:plamo|>",  # PLaMo 3
    "[unused11]": "[unused12]",  # Pangu
    "function call<|role_sep|>": "",  # GigaChat 3
    "[tool_calls]": "",  # Mistral
    "functools[": "]",  # Phi 4 mini
}
_PYTHON_ENDS = ("<|eom_id|>", "<|eot_id|>")
_DROPPED = {
    "<tool_response>": "</tool_response>",  # a result that the model invented
    "<tool_result>": "</tool_result>",
    "[tool_results]": "[/tool_results]",
    "<|start_header_id|>": "<|end_header_id|>",  # Llama 3: the role of the next message
    "<|im_start|>": "\n",  # ChatML: the same
}
_WRAPPERS = (
    *("<answer>", "</answer>", "<response>", "</response>", "<final>", "</final>"),
    *("<final_answer>", "</final_answer>", "</tool_call>", "</tool_calls>", "</function>", "</invoke>"),
    *("<end_of_turn>", "<start_of_turn>model", "<turn|>", "</s>", "<s>", "[/inst]"),
    *("<eos>", "<bos>", "<pad>"),  # Gemma
    *("<|open|>response<|sep|>", "<|close|>response<|sep|>", "<|close|>message<|sep|>"),  # Kimi K3
    *("<ifm|tool_calls>", "</ifm|tool_calls>"),
    *(f"<{end}tool_calls{suffix}>" for end in ("", "/") for suffix in _HY_SUFFIXES),
    "<|begin|>assistant",  # Solar Open
    "to=user<|message|>",  # Muse: behind its prompt
    ">>>all\n",  # Functionary 3
)
"""Marks that are removed, but not the text between them."""
_HARMONY_ENDS = ("<|end|>", "<|return|>", "<|call|>", "<|eom|>", "<|eot|>")
_HARMONY_NEXT = ("<|start|>", "<|channel|>")
HARMONY_MESSAGE = "<|message|>"
_INKLING_CONTENTS = ("<|content_thinking|>", "<|content_invoke_tool_json|>", "<|end_message|>")

REGIONS: dict[str, Region] = {
    **{mark: Region("thought", (closing,), opening=mark) for mark, closing in _THOUGHTS.items()},
    **{closing: Region("unopened") for closing in _THOUGHTS.values()},
    **{mark: Region("call", (closing,) if closing else (), opening=mark) for mark, closing in _CALLS.items()},
    "<|python_tag|>": Region("call", _PYTHON_ENDS, opening="<|python_tag|>"),  # Llama 3.1
    **{mark: Region("dropped", (closing,)) for mark, closing in _DROPPED.items()},
    **{mark: Region("dropped") for mark in _WRAPPERS},
    **{mark: Region("header", (HARMONY_MESSAGE,), _HARMONY_ENDS, opening=mark) for mark in _HARMONY_NEXT},
    "<|think|>": Region("thought", ("<|/think|>", "<|end|>")),  # the second end is Solar Open's
    "to=self<|message|>": Region("thought", _HARMONY_ENDS, _HARMONY_NEXT),  # Muse: behind its prompt
    "<|content_thinking|>": Region("thought", ("<|end_message|>",)),  # Inkling
    "<|message_model|>": Region("dropped", ("<|content_text|>",), _INKLING_CONTENTS),  # with a tool's name
}
"""Regions by their opening mark, in lower case."""
STARTED_IN_THOUGHT = Region("thought", tuple(_THOUGHTS.values()))
"""Region at the start of a reply whose prompt ends with the opening mark of a thought."""
HARMONY_THOUGHT = Region("thought", _HARMONY_ENDS, _HARMONY_NEXT)
HARMONY_CALL = Region("call", _HARMONY_ENDS, _HARMONY_NEXT)

TRIGGERS = re.compile(r"[<\[\]{`◁\n]")
"""Characters that may begin a mark, or a call without one; a line's end, as a call may follow it."""
MARK = re.compile("|".join(map(re.escape, REGIONS)), re.IGNORECASE | re.ASCII)
SPECIAL_TOKEN = re.compile(r"<[|｜][\w▁ /:.-]{1,40}[|｜]>")
"""Special tokens in the text of a reply; they are never spoken."""
SPECIAL_TOKEN_BEGINS = re.compile(r"<(?:[|｜][\w▁ /:.-]{0,40}[|｜]?)?\Z")
LONGEST_HEADER = 200
_BARE_WORDS = Region("words", (), ("assistantcommentary", "assistantanalysis", "assistantfinal"))
BARE_HARMONY: dict[str, Region] = {
    "analysis": Region("thought", ("assistantfinal",), ("assistantcommentary",)),
    "final": _BARE_WORDS,
    "commentary": _BARE_WORDS,
    "commentary to=": HARMONY_CALL,
}
"""Regions by the header that opens them where a server has removed harmony's marks ("analysisWe greet.
assistantfinalHello.").
"""
BARE_HEADER = re.compile(
    r"(?:assistant)?(?P<header>(?:analysis|final|commentary)(?=[A-Z])|commentary to=(?=\w))"
)
BARE_PREFIXES = frozenset(
    f"{before}{header}"[:length]
    for before in ("", "assistant")
    for header in BARE_HARMONY
    for length in range(1, len(before + header) + 1)
)
"""All prefixes of these headers, the whole ones too: only the next character decides."""
_RECIPIENT = re.compile(r"to=(?:functions\.)?([\w.-]+)")
PREFIXES = frozenset(mark[:length] for mark in REGIONS for length in range(1, len(mark)))
"""All proper prefixes of marks, in lower case."""


def read_harmony_header(header: str) -> tuple[Region | None, str]:
    """Return the region after a header (None for words), and the name of the called tool ("" for none)."""
    recipient = _RECIPIENT.search(header)
    if recipient and recipient[0] == "to=user":  # Muse
        return None, ""
    if recipient and recipient[0] == "to=self":
        return HARMONY_THOUGHT, ""
    if recipient:
        return HARMONY_CALL, recipient[1]
    channel = header.rpartition("<|channel|>")[2]
    return (HARMONY_THOUGHT if channel.strip().lower().startswith("analysis") else None), ""


def leaves_thought_open(prompt: str) -> bool:
    """Return True if a prompt ends with the opening mark of a thought: the reply begins inside it."""
    return prompt.rstrip().lower().endswith(tuple(_THOUGHTS))


def are_special_tokens(tokens: frozenset[str]) -> bool:
    """Return True if any mark is a special token of a tokenizer.

    Special tokens must then be kept in the decoded text: without its marks, a thought or call would be
    spoken.
    """
    return any(token.lower() in REGIONS for token in tokens)
