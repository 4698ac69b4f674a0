"""What is shown of one subscription, kept current from frames. Knows neither hub nor sockets."""
