"""The core scheduler: finds in bounded looks what nobody needs any more, and asks for its end."""
