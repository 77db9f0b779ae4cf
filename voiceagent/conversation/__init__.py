"""What happens in a call, and what is to be done about it: `Conversation.handle(event) -> commands`. Pure.

machine         the one door: every event, in one pass, to the rooms below and back as commands
events, commands, notifications, settings
                what goes in and comes out; a notification is a command that the client gets, and
                `client_requests` and `agent_events` are events
turn_taking     a caller's turn from the first that is heard of it to the answer that is wanted
turn/           the caller's turn: its phases, what it is understood to say, how long its pause may be
end_of_turn/    how probably a turn is over, by all its witnesses, and the silence that ends it
interruption    barge-in, the whole policy: duck, hold, confirm, backchannel, later, resume, take back;
                `voice_over_agent` follows a voice by it
answering       which response is made, and when: preemptive, owed, asked for; `silent_caller` for one who
                says nothing
beside          responses out of band, which a client has made as texts beside the conversation's own
response/       the response that the client knows, and a preemptive one: phases, calls, played words
prompting/      what is asked of the LLM: requests, prefills, the history as prompts have it, its summaries
history         the items of the conversation
tool_calls, tool_records, tool_names
                the tools that the server runs, their records in the history, and their names
item_requests, input_requests
                what a client asks about single items, and about the sound that came
turn_policy, config, words, set_phrases
                how turns are taken on this server, its tables in the configuration, the words that matter,
                and those that no model writes
fragments, latency
                what the session uses beside: speakable pieces of a response, where the time of a turn went

State has one owner: `Caller` the caller's turns, `CurrentResponse` the response (`BesideResponses` those
beside it), `Answering` what is wanted of the agent, `Prompts` what prompts are made of, `Conversation`
settings and history. The parts return commands.
"""
