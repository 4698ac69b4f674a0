"""The API as an OpenAPI 3.1 document: made from the routes, the structs and one row an operation.

Who may enter: `cluster.api.urls`, which serves it, and `manage.py openapi`, which writes it.
"""
