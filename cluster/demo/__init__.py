"""The demo: a simulated fleet of three racks, and an author who lets things happen in it."""
