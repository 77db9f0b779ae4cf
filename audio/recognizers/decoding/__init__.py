"""How words are searched in what a recognizer's network says, and how a growing sound is cut. Pure."""
