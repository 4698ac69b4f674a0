"""The door for programs: JSON under `/v1/`, in the shapes existing clients know.

Views parse a request, call one operation or one read, and answer. They hold no rules and no SQL.
"""
