"""The eyes: reads the record, draws it, asks for changes through operations. Never schedules."""
