"""`voiceagent gate`: a labelled set under load, held against a baseline or beside another configuration.

Times are counted in those of `reference`, a fixed piece of work that is done in turn with what is measured.
"""
