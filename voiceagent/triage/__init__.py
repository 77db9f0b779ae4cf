"""Why calls are slow: rules over the server's own metrics, each with its cause, its threshold and what to
change. The same rules are Prometheus' alerts and the panels of a Grafana dashboard.

`expressions` can be evaluated here and written as PromQL, `rules` is the table, `exports` writes the files in
`configs/prometheus`; `history` keeps what was measured, and `page` shows what was found.
"""
