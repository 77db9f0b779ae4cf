# ruff: noqa: E501  replies as they come
"""Replies as model families write them: thoughts around "Your table is booked.", and calls of weather(city="Rome")."""

from __future__ import annotations

JSON_CALL = '{"name": "weather", "arguments": {"city": "Rome"}}'

THOUGHTS = {
    "opened": "<think>\nThe caller wants a table.\n</think>\n\nYour table is booked.",
    "empty": "<think>\n\n</think>\n\nYour table is booked.",
    "end alone, and nothing before": "</think>\n\nYour table is booked.",
    "thinking": "<thinking>Hm.</thinking>Your table is booked.",
    "reasoning": "<reasoning>Hm.</reasoning> Your table is booked.",
    "capitals": "<THINK>Hm.</THINK>Your table is booked.",
    "Seed": "<seed:think>Hm.</seed:think>Your table is booked.",
    "Magistral": "[THINK]Hm.[/THINK]Your table is booked.",
    "Command A": "<|START_THINKING|>Hm.<|END_THINKING|><|START_RESPONSE|>Your table is booked.<|END_RESPONSE|>",
    "Kimi": "◁think▷Hm.◁/think▷Your table is booked.",
    "Gemma": "<|channel>thought\nHm.<channel|>Your table is booked.",
    "Granite": "<think>Hm.</think><response>Your table is booked.</response>",
    "harmony": "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Your table "
    "is booked.<|return|>",
    "harmony, with words beside": "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>"
    "commentary<|message|>Your table<|end|><|start|>assistant<|channel|>final<|message|> is booked.",
    "twice": "<think>Hm.</think>Your table <think>Hm.</think>is booked.",
    "special tokens": "<|im_start|>assistant\nYour table is booked.<|im_end|>",
    "a made-up result": "<tool_response>42</tool_response>Your table is booked.",
    "reasoning_content": "<reasoning_content>Hm.</reasoning_content>Your table is booked.",
    "a special token as mark": "<|think|>Hm.<|/think|>Your table is booked.",
    "harmony without its marks": "analysisHm. The final answer.assistantfinalYour table is booked.",
    "harmony without its marks, words alone": "finalYour table is booked.",
    "gemma_end": "<think>Hm.</think>Your table is booked.<eos>",
}
CALLS = {
    "Hermes": f"<tool_call>\n{JSON_CALL}\n</tool_call>",
    "Hermes, a brace too few": '<tool_call>{"name": "weather", "arguments": {"city": "Rome"}</tool_call>',
    "Hermes, a brace too many": f"<tool_call>{JSON_CALL}}}</tool_call>",
    "Hermes, no end": f"<tool_call>{JSON_CALL}",
    "Python's quotes": "<tool_call>{'name': 'weather', 'arguments': {'city': 'Rome'}}</tool_call>",
    "Qwen 3 Coder": "<tool_call>\n<function=weather>\n<parameter=city>\nRome\n</parameter>\n</function>\n</tool_call>",
    "Qwen 3 Coder, alone": "<function=weather>\n<parameter=city>\nRome\n</parameter>\n</function>",
    "GLM": "<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Rome</arg_value>\n</tool_call>",
    "MiniMax": '<minimax:tool_call>\n<invoke name="weather">\n<parameter name="city">Rome</parameter>\n</invoke>\n'
    "</minimax:tool_call>",
    "Llama 3.1": '<function=weather>{"city": "Rome"}</function>',
    "Llama 3.1, python": '<|python_tag|>weather.call(city="Rome")',
    "Llama 3.1, JSON": '<|python_tag|>{"name": "weather", "parameters": {"city": "Rome"}}<|eom_id|>',
    "Llama 3.2": '{"type": "function", "name": "weather", "parameters": {"city": "Rome"}}',
    "Llama 3.2, python": '[weather(city="Rome")]',
    "OpenAI's own": '{"type": "function", "function": {"name": "weather", "arguments": "{\\"city\\": \\"Rome\\"}"}}',
    "a list": f"[{JSON_CALL}]",
    "tool_calls": f'{{"tool_calls": [{JSON_CALL}]}}',
    "arguments first": '{"arguments": {"city": "Rome"}, "name": "weather"}',
    "doubled braces": '{{"name": "weather", "arguments": {"city": "Rome"}}}',
    "all braces doubled": '{{"name": "weather", "arguments": {{"city": "Rome"}}}}',
    "fenced": f"```json\n{JSON_CALL}\n```",
    "fenced, no language": f"```\n{JSON_CALL}\n```",
    "Gemma 3": '```tool_code\nprint(default_api.weather(city="Rome"))\n```',
    "Gemma 4": '<|tool_call>call:weather{city:<|"|>Rome<|"|>}<tool_call|>',
    "FunctionGemma": "<start_function_call>call:weather{city:<escape>Rome<escape>}<end_function_call>",
    "Mistral": f"[TOOL_CALLS][{JSON_CALL}]",
    "Mistral 11": '[TOOL_CALLS]weather{"city": "Rome"}',
    "Mistral 13": '[TOOL_CALLS]weather[CALL_ID]abc123def[ARGS]{"city": "Rome"}',
    "DeepSeek V3": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n```json\n"
    '{"city": "Rome"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    "DeepSeek V3.1": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>"
    '{"city": "Rome"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    "DeepSeek V3.2": '<｜DSML｜function_calls>\n<｜DSML｜invoke name="weather">\n<｜DSML｜parameter name="city" '
    'string="true">Rome</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>',
    "Kimi K2": "<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>"
    '{"city": "Rome"}<|tool_call_end|><|tool_calls_section_end|>',
    "Command A": '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "weather", "parameters": {"city": "Rome"}}]'
    "<|END_ACTION|>",
    "Phi 4": f"functools[{JSON_CALL}]",
    "LFM 2": '<|tool_call_start|>[weather(city="Rome")]<|tool_call_end|>',
    "harmony": "<|channel|>commentary to=functions.weather <|constrain|>json<|message|>"
    '{"city": "Rome"}<|call|>',
    "harmony, to the assistant": "<|start|>assistant to=functions.weather<|channel|>commentary json<|message|>"
    '{"city": "Rome"}<|call|>',
    "seed_xml": "<seed:tool_call><function=weather><parameter=city>Rome</parameter></function></seed:tool_call>",
    "tool_use": '<tool_use>{"name": "weather", "input": {"city": "Rome"}}</tool_use>',
    "tools": '<tools>{"name": "weather", "arguments": {"city": "Rome"}}</tools>',
    "langchain_action": '{"action": "weather", "action_input": {"city": "Rome"}}',
    "name before JSON": 'weather {"city": "Rome"}',
    "name and colon before JSON": 'functions.weather: {"city": "Rome"}',
    "name before JSON, a brace too few": 'weather{"city": "Rome"',
    "name as key": '{"weather": {"city": "Rome"}}',
    "name as key, fenced": '```json\n{"weather": {"city": "Rome"}}\n```',
    "python, with its namespace": 'functions.weather(city="Rome")',
    "ReAct": 'Action: weather\nAction Input: {"city": "Rome"}',
    "several at once": '{"tool_uses": [{"recipient_name": "functions.weather", "parameters": {"city": "Rome"}}]}',
    "arguments beside the name": '<tool_call>{"name": "weather", "city": "Rome"}</tool_call>',
    "tool": f"<tool>{JSON_CALL}</tool>",
    "harmony without its marks": 'analysisHm.assistantcommentary to=functions.weather json{"city": "Rome"}',
    "python_call_of_an_object": '<|python_tag|>weather({"city": "Rome"})',
}
