"""Scheduling policies: order of requests, admission, choice of model and replica, speculation, load shedding."""
