"""The body: Django project, durable state, doors, processes. Imports the mind, never the eyes."""
