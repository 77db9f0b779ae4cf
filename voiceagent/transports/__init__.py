"""Transports: connections over the Realtime API, WebRTC and telephony, and their shared parts."""
