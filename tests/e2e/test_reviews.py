"""A larger LLM behind the one that answers corrects it. Live: test_live.py."""

from __future__ import annotations

import base64
from pathlib import Path

import httpx
from recordings import recorded
from review_engines import ANSWER, BACK, CORRECTION, FRONT
from sdk_caller import calling
from served import serving_tools

CHARACTER_S = 0.06  # of speech, by the engine of fixed cost
BRIDGE = "Sorry, let me correct that."


async def outcomes(address: str) -> list[str]:
    """Return the counted outcomes of reviews."""
    async with httpx.AsyncClient(trust_env=False) as client:
        metrics = (await client.get(f"http://{address}/metrics")).text
    return [line for line in metrics.splitlines() if line.startswith("voiceagent_llm_reviews_total{")]


async def test_realtime_caller_hears_false_words_stop_and_then_the_correction(tmp_path: Path) -> None:
    async with serving_tools(tmp_path, FRONT, BACK) as address, calling(address) as caller:
        await caller.speak(recorded("goforward.wav", 24_000))
        withdrawn = (await caller.until("response.done"))["response"]
        corrected = (await caller.until("response.done", 2))["response"]
        truncated = await caller.until("conversation.item.truncated")
        assert (withdrawn["status"], corrected["status"]) == ("cancelled", "completed")
        assert truncated["item_id"] == withdrawn["output"][0]["id"]
        said = corrected["output"][0]["content"][0]["transcript"]
        assert said.strip() == f"{BRIDGE} {CORRECTION}"
        item_id = truncated["item_id"]
        sounds = caller.of("response.output_audio.delta")
        heard = sum(len(base64.b64decode(s["delta"])) // 2 for s in sounds if s["item_id"] == item_id)
        assert 0 < heard < len(ANSWER) * CHARACTER_S * 24_000 / 2
        await caller.connection.conversation.item.retrieve(item_id=item_id)
        item = (await caller.until("conversation.item.retrieved"))["item"]
        played = item["content"][0]["transcript"]
        assert item["status"] == "incomplete" and played and ANSWER.startswith(played)
        # what is kept is what was played, to the word
        assert abs(len(played) * CHARACTER_S - truncated["audio_end_ms"] / 1000) < 10 * CHARACTER_S
        assert await outcomes(address) == ['voiceagent_llm_reviews_total{outcome="corrected"} 1.0']


async def test_hanging_back_leaves_the_answer_as_it_is(tmp_path: Path) -> None:
    async with (
        serving_tools(tmp_path, FRONT, f"{BACK}delay_s = 60.0\n") as address,
        calling(address) as caller,
    ):
        await caller.speak(recorded("goforward.wav", 24_000), silence_s=0.5)
        response = (await caller.until("response.done"))["response"]
        assert response["output"][0]["content"][0]["transcript"].strip() == ANSWER
        assert len(caller.of("response.done")) == 1
        assert await outcomes(address) == ['voiceagent_llm_reviews_total{outcome="failed"} 1.0']
