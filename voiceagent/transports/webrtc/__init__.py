"""WebRTC calls: SDP, ICE on one UDP port, Opus both ways, events on a data channel."""
