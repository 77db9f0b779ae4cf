"""`voiceagent gate`: a labelled set under load, compared with a baseline or with another configuration.

Times are relative to those of `reference`, a fixed piece of work interleaved with the measurement.
"""
