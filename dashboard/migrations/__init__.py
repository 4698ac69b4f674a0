"""Changes of the tables beside Django's accounts, one each."""
