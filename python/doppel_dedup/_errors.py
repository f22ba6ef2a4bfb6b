"""Exceptions of doppel_dedup, besides Python's own (ValueError, OSError and so on)."""


class Error(RuntimeError):
    """doppel could not continue; the message names what failed and where."""


class WrongIndexError(Error):
    """The directory holds an index that was made with other settings, with another key or for another use."""


class BusyError(Error):
    """Another process uses the directory."""


class DamagedError(Error):
    """Files of the directory are damaged."""
