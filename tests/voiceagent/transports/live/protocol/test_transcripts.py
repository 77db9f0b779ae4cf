"""The transcripts of both sides, as deltas."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from voiceagent.conversation.notifications import NotifyTranscript
from voiceagent.transports.live.protocol.transcripts import InputTranscript, OutputTranscript, Piece

FRAME_S = 0.02
WORDS = st.lists(st.text("abc", min_size=1, max_size=8), min_size=1, max_size=20)


def said(transcript: InputTranscript, item_id: str, text: str, final: bool, now_ms: int = 0) -> str:
    piece = transcript.on_transcript(NotifyTranscript(item_id, text, final), now_ms)
    return "" if piece is None else piece.text


def played(transcript: OutputTranscript, frames: int, now_ms: int = 0) -> list[Piece]:
    pieces = (transcript.on_audio(FRAME_S, now_ms + 20 * frame) for frame in range(frames))
    return [piece for piece in pieces if piece is not None]


def test_final_transcript_adds_only_the_rest() -> None:
    transcript = InputTranscript()
    assert said(transcript, "a", "go for", False) == "go for"
    assert said(transcript, "a", "go forward", True) == "ward"


def test_second_turn_begins_with_a_space() -> None:
    transcript = InputTranscript()
    assert said(transcript, "a", "Hello.", True) == "Hello."
    assert said(transcript, "b", "Goodbye.", True) == " Goodbye."


def test_revised_words_are_not_sent_again() -> None:
    transcript = InputTranscript()
    said(transcript, "a", "go four", False)
    assert said(transcript, "a", "go for ten meters", True) == " ten meters"


def test_turn_without_words_has_no_delta() -> None:
    assert said(InputTranscript(), "a", "", True) == ""


def test_input_delta_begins_with_the_speech_and_ends_now() -> None:
    transcript = InputTranscript()
    transcript.on_speech_started("a", 500)
    assert transcript.on_transcript(NotifyTranscript("a", "go", False), 900) == Piece("go", 500, 900)
    assert transcript.on_transcript(NotifyTranscript("a", "go on", True), 1200) == Piece(" on", 900, 1200)


@given(WORDS)
def test_output_deltas_joined_are_the_text(words: list[str]) -> None:
    transcript, text = OutputTranscript(), " ".join(words)
    transcript.on_text(text)
    pieces = played(transcript, 50)
    rest = transcript.on_sent(1000)
    assert "".join(piece.text for piece in (*pieces, *filter(None, [rest]))) == text
    assert all(piece.start_ms < piece.end_ms for piece in pieces)
    assert all(one.end_ms <= other.start_ms for one, other in pairwise(pieces))


def test_words_come_with_their_audio_and_not_before() -> None:
    transcript = OutputTranscript()
    transcript.on_text("one two three four five six")
    assert [piece.text for piece in played(transcript, 1)] == ["one"]
    assert "six" not in "".join(piece.text for piece in played(transcript, 30))


def test_cut_response_has_the_played_words_only() -> None:
    transcript = OutputTranscript()
    transcript.on_text("one two three four")
    played(transcript, 1)
    assert transcript.on_cut("one two", 300) == Piece(" two", 195, 300)
    transcript.on_text("next")
    assert [piece.text for piece in played(transcript, 1)] == [" next"]


def test_last_words_of_a_fast_voice_do_not_reach_into_the_next_response() -> None:
    transcript = OutputTranscript()
    transcript.on_text("one two three")  # 845 ms at the assumed pace
    played(transcript, 20)  # 400 ms
    assert transcript.on_sent(380) == Piece(" three", 455, 455)
    transcript.on_text("four")
    assert transcript.on_audio(0.02, 460) == Piece(" four", 460, 785)


def test_nothing_is_sent_where_more_was_released_than_played() -> None:
    transcript = OutputTranscript()
    transcript.on_text("one two three four")
    played(transcript, 60)
    assert transcript.on_cut("one", 100) is None


def test_pace_follows_the_voice() -> None:
    transcript = OutputTranscript()
    transcript.on_text("a" * 100)
    played(transcript, 500)  # 0.1 s a character
    transcript.on_sent(0)
    transcript.on_text("1234567 9")
    assert [piece.text for piece in played(transcript, 34)] == [" 1234567"]
    assert [piece.text for piece in played(transcript, 10)] == [" 9"]
