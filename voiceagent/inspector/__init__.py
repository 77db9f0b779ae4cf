"""HTTP API for recorded calls: list, play, follow while they run, and replay. Read-only.

Access needs a key (`Authorization: Bearer`); a server without keys serves only this machine. A page posts
its key once to `POST /v1/calls/ticket` for a cookie that is valid for eight hours: an `<audio>` element
cannot send a header, and a key must not be in a URL. Errors are `{"error": {"code", "message"}}`.

- `GET /v1/calls`: the newest calls, `limit` (50, at most 200) a page, and the cursor of the `next` page for
  the parameter `behind`. Filters, which all must hold: `since` and `until` (Unix seconds), `state` (running,
  ended, broken), `slower_than_ms` (a turn that waited longer), `provider_value` (a value from the telephony
  provider: the caller's number, the call's id at the provider, or another parameter), and 1 for `cut_off` (a
  turn was answered before it was over), `interrupted`, `tool_failed`, `engine_failed`.
- `GET /v1/calls/{id}`: `call` (with its `end_code`, its `agents` in order, and `provider_data`, the telephony
  provider's parameters by name), and in order `turns` (the caller's), `responses`, `tools`, `stalls` of
  the event loop, `failed_hooks` of the agent's code (`at_s`, `name`, `place`: file, line and function,
  `reason`), and `requests` of clients (`at_s`, `request`: type of the client event, `sideband`: number of
  the sideband that sent it, 0 for the call's own client). All `_s` are seconds of the recording. A turn:
  `began_s` and `ended_s` (first and last voiced sample), `settled_s` (its transcript was final), `decided_s`,
  `ended_by` ("silence", "client", "typed", "upstream"), `end_code` (the rule that ended it),
  `end_of_turn` (probability, silence, the additional wait for the answer, and the log-odds of each
  feature, in nats), `playout` (added by the client).
  A response: `sound` (position in the recording), `written`, `heard` (null while unknown, as during playout),
  `status` ("in_progress", "completed", "cancelled", "failed", "incomplete";
  "false_end" where the turn was not over, "hung_up" where the call ended first), `interrupted_by` (the
  cause), `usage` (tokens, and
  `gate_s` and `queue_s` in the LLM's queues), `report` (its stages, as `voiceagent.latency` has them; also
  of one in which the call ended, if it was heard). A tool: `began_s` (start of its run; for a client's own,
  or one that never ran, the call), `ended_s`, `arguments`, `output`, `outcome` ("done"; "failed", also
  where it was refused and did not run; "cancelled"; "" while it runs).
- `GET /v1/calls/{id}/events`: the same for a running call, as server-sent events: `changes`, each a
  document like that with new and changed entries; at last `over`.
- `GET /v1/calls/{id}/recording`: WAV or Ogg, left the caller, right the agent; ranges are served.
- `GET /v1/calls/{id}/peaks`: two bytes, caller and agent, each 20 ms: 255 times the root of the peak's part
  of full scale; ranges are served.
- `GET /v1/calls/{id}/export`: a zip with everything recorded.
- `POST /v1/calls/{id}/replay`: replay the log, up to a megabyte of it: `same`, or the first `event` that
  differs and a `diff`.
- `GET /v1/calls/{id}/scores`: `scores` of the call, as `voiceagent score` has them (`name`, `source` of the
  definition, `unit`, `value`, `count` of events), and `by_recording`: false if only the log was used.
"""
