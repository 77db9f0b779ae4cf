#!/usr/bin/env bash
# pipecat-ai 1.14.0, eager end of turn: in Hindi the reply to "call Meena" is kept and spoken though the final transcript is
# "call Mona"; in English the reply about 7.50 is kept though the transcript is 7:50.
#
# With `EagerUserTurnStrategies` the model answers a predicted end of turn. If the service then commits another transcript, that
# reply is discarded. `NormalizedMatch`, the default, decides whether it is another one; it "ignores the capitalization and
# punctuation", so a reply should survive an added comma, and no other word. But it counts as punctuation all that `\w` of Python's
# `re` does not match, and that includes the vowel signs of Hindi (Unicode categories Mc and Mn): मीना and मोना are both "म न",
# दो (two) and दे (give) are both "द". Pipecat offers this with Deepgram's Flux, which has Hindi; Thai, Tamil and Bengali lose
# their vowels as well. It is known that scores of recognizers suffer from this; here an agent answers another question. The
# history has the committed transcript with the reply to the other below it, and no warning is logged. In Latin letters the
# same two names are told apart. What helps: a policy that removes punctuation only at the ends of words, as below; or
# `ExactMatch`, which discards the reply also where only a full stop was added.
# Output seen: "मोना ..." answered as "मीना ...", "दे" as "दो", "7:50" as "7.50"; by the policy below each as it was said.
# Seen with pipecat-ai 1.14.0, Python 3.11. Exits with 0 while that is so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --no-compile pipecat-ai==1.14.0
cat > "$folder/eager.py" <<'PYTHON'
import asyncio
from importlib.metadata import version

from loguru import logger

logger.remove()
from pipecat.frames import frames  # noqa: E402
from pipecat.pipeline.pipeline import Pipeline  # noqa: E402
from pipecat.processors.aggregators.llm_context import LLMContext  # noqa: E402
from pipecat.processors.aggregators.llm_response_universal import (  # noqa: E402
    LLMContextAggregatorPair,
    LLMUserAggregatorParams,
)
from pipecat.services.llm_service import LLMService  # noqa: E402
from pipecat.tests.utils import SleepFrame, run_test  # noqa: E402
from pipecat.turns.user_stop import EagerMatchPolicy, NormalizedMatch  # noqa: E402
from pipecat.turns.user_turn_strategies import EagerUserTurnStrategies  # noqa: E402

OTHER_WORDS = [  # the predicted transcript, the committed one
    ("मीना को फ़ोन करो", "मोना को फ़ोन करो।"),
    ("दो", "दे"),
    ("book it for 7.50", "Book it for 7:50."),
]
IN_LATIN, SAME_WORDS = ("call Meena", "Call Mona."), ("call Meena", "Call Meena.")
loop = asyncio.SelectorEventLoop()
select, seconds = loop._selector.select, [0.0]


def wait(timeout):  # for nothing: only the loop's clock goes on, so that a busy machine changes nothing
    ready = select(0)
    seconds[0] += 0 if ready else timeout or 0
    return ready


loop._selector.select, loop.time = wait, lambda: seconds[0]


class Echo(LLMService):
    """A model whose reply is the words that it answers."""

    async def process_frame(self, frame, direction) -> None:
        await super().process_frame(frame, direction)
        if not isinstance(frame, frames.LLMContextFrame):
            return await self.push_frame(frame, direction)
        await self.push_frame(frames.LLMFullResponseStartFrame())
        await self.push_frame(frames.LLMTextFrame(frame.context.get_messages()[-1]["content"]))
        await self.push_frame(frames.LLMFullResponseEndFrame())


class EndsOfWords(EagerMatchPolicy):
    """What helps: only punctuation at the ends of words makes no difference."""

    def matches(self, eager: str, final: str) -> bool:
        one, other = ([word.strip(".,?!।") for word in text.casefold().split()] for text in (eager, final))
        return one == other


async def turn(predicted: str, committed: str, policy: EagerMatchPolicy) -> list[str]:
    """Return what the history says of one turn: the caller's words, and the words that were answered."""
    context = LLMContext()
    params = LLMUserAggregatorParams(user_turn_strategies=EagerUserTurnStrategies(match_policy=policy))
    caller, agent = LLMContextAggregatorPair(context, user_params=params)
    steps = [
        frames.ProposedUserStartedSpeakingFrame(),
        frames.EagerTranscriptionFrame(predicted, "caller", "now"),
        frames.TranscriptionFrame(committed, "caller", "now"),
        frames.ProposedUserStoppedSpeakingFrame(),
    ]
    spaced = [frame for step in steps for frame in (step, SleepFrame(sleep=0.2))]
    await run_test(Pipeline([caller, Echo(), agent]), frames_to_send=spaced, start_timeout=60)
    return [message["content"] for message in context.get_messages()]


async def main() -> None:
    print("pipecat-ai", version("pipecat-ai"))
    for predicted, committed in [*OTHER_WORDS, IN_LATIN, SAME_WORDS]:
        said, kept = await turn(predicted, committed, NormalizedMatch())
        _, helped = await turn(predicted, committed, EndsOfWords())
        print(f"  said: {said!r}; answered: {kept!r}, with the other policy: {helped!r}")
        assert said == committed
        assert kept == (committed if (predicted, committed) == IN_LATIN else predicted)
        assert helped == (predicted if (predicted, committed) == SAME_WORDS else committed)


loop.run_until_complete(main())
PYTHON
"$folder/venv/bin/python" "$folder/eager.py"
