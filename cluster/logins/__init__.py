"""Signed tokens of elsewhere: keys, verification, and what their claims say to our rules."""
