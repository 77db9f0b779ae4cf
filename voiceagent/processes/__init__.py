"""Child processes: start, supervision, restart, end, and streams in both directions.

`child` owns the lifecycle of a process, `rpc` its connection in an event loop. `engine_host` builds on them
to run a blocking engine in other processes (`engine_process` is the code there), and `worker_pool` to
distribute connections to the workers of `serve --workers`. `rounds` schedules work of a busy process in
common ticks.
"""
