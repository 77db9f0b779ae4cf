"""Many processes that take calls, and one that holds the engines, on one port (`serve --workers`).

The parent listens, accepts and hands each connection to the worker with the fewest calls. It holds the
engines, so that they are loaded once and see the requests of all calls. A worker is a server like one alone,
whose engines are at the other end of a socket.
"""
