"""Recordings of people in calls: the parts of `bench_people.py`."""
