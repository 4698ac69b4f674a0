"""The mistake that stops the reading of one item of a job file."""


class SyntaxProblem(Exception):
    """What is wrong between two offsets of the text. `is_final`: nothing behind it can be read."""

    def __init__(self, start: int, end: int, summary: str, detail: str) -> None:
        super().__init__(summary)
        self.start = start
        self.end = end
        self.summary = summary
        self.detail = detail
        self.is_final = False
