"""The one error that is meant for people: its text is a sentence that says what to do."""


class SketchseekError(Exception):
    """Something a user can mend. The command line prints it as it is and exits with 1."""
