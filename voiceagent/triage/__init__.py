"""Diagnosis of slow calls: rules over the server's own metrics, each with its cause, its threshold and a
remedy. The same rules are exported as Prometheus alerts and panels of a Grafana dashboard.

`expressions` can be evaluated here and written as PromQL, `rules` is the table, `exports` writes the files in
`configs/prometheus`, `history` stores recent metrics, and `page` renders the findings.
"""
