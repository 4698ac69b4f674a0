"""Data to geometry: pure functions. Neither Django nor the cluster enters here."""
