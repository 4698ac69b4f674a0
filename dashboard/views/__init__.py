"""Pages: query, render. Buttons: ask an operation, redirect."""
