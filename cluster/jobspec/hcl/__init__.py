"""Job files: text in the HCL language made into a job request.

In: text and values for its variables. Out: a request form, or every problem with line and column.
text -> `parser` -> syntax tree -> `evaluate` (variables, locals, functions) -> `decode` ->
request form. The parser is our own: it names every place, goes on after a mistake, and takes
bounded time on any text.
"""
