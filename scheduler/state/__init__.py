"""How the world is shown to the engine, and what one write does to it; no database."""
