"""How calls come and go: one connection under the Realtime API, WebRTC and the phone lines."""
