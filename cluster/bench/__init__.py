"""The benchmark scenarios, one file each, run by manage.py bench."""
