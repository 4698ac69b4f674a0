"""PostgreSQL as the record's database: what the store says to it, and with how few messages.

Django's own backend with two things beside it: a line of the store's own (`line`), which keeps
prepared statements and says in one message what needs no answer in between, and COPY for many new
rows (`bulk`). Only `cluster.store` enters; who has nothing to do with PostgreSQL loads none of it.
"""
