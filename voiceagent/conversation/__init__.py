"""The logic of a call, from events to commands: `Conversation.handle(event) -> commands`.

machine         the entry point: passes every event to the modules below, and returns their commands
events, commands, notifications, settings
                inputs and outputs; a notification is a command to notify the client, and
                `client_requests` and `agent_events` are events
turn_taking     a caller's turn, from its first sound to the request for an answer
turn/           the caller's turn: its phases, its transcript, its endpointing delay
end_of_turn/    the probability that a turn is over, from all features, and the silence that ends it
interruption    barge-in, the whole policy: duck, hold, confirm, backchannel, later, resume, take back;
                `voice_over_agent` applies it to a voice
answering       decides which response starts, and when: preemptive, pending, requested;
                `silent_caller` handles callers who say nothing
reviews         what follows from the back LLM's reviews of spoken answers
call_language   the language of a call that serves several; `answer_language` is its line of the prompt
out_of_band     out-of-band responses: texts that a client requests outside the conversation
response/       the response that the client knows, and a preemptive one: phases, calls, played text
prompting/      requests to the LLM: responses, prefills, the history in prompts, its summaries
history         the items of the conversation
tool_calls, tool_records, tool_names, shared_response
                the tools that the server runs, their records in the history, their names, and responses that
                call tools of the client too
item_requests
                a client's requests about single items, and about the input audio
turn_policy, config, agent_config, words
                rules of turn-taking on this server, its tables with the fixed phrases, word lists
fragments, latency
                used by the session: speakable fragments of a response, and the stages of a turn

State has one owner: `Caller` the caller's turns, `CurrentResponse` the response (`OutOfBandResponses` those
out of band), `Answering` the pending requests for the agent, `Prompts` the inputs of prompts,
`Conversation` settings and history. The modules return commands.
"""
