"""Anything in a process of its own: started, asked, lost, started again, ended; streams both ways.

`child` owns a process's life, `rpc` is its connection in an event loop. On them stand `engine_host`, which
has a blocking engine in other processes (`engine_process` is what runs there), and `worker_pool`, which hands
connections to the workers of `serve --workers`. `rounds` are the moments at which a busy process does things
together.
"""
