"""Tasks that are containers of an engine with Docker's interface, podman's too."""
