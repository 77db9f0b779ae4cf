"""Scheduling policies: order of requests, admission, choice of model and replica, drafts, load shedding."""
