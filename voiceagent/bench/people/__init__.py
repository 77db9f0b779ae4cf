"""`voiceagent bench people`: turns, words and waits, measured on recordings of people."""
