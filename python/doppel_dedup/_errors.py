"""What can go wrong beyond Python's own exceptions (ValueError, OSError, ...)."""


class Error(RuntimeError):
    """doppel could not go on; the message names what and where."""


class WrongIndexError(Error):
    """The directory holds an index that was made with other settings, another key or for another use."""


class BusyError(Error):
    """Another process uses the directory."""


class DamagedError(Error):
    """Files of the directory are damaged."""
