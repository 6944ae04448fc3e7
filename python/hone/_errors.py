"""What functions of hone raise. Exceptions of callbacks pass through as they are."""

import builtins


class Error(ValueError):
    """The input is at fault: a file, an option, an array of the wrong type.

    The text says what was found, where, what would be accepted and what to do next.
    """

    __module__ = "hone"


class MemoryError(Error, builtins.MemoryError):
    """More memory is needed than the process, or the session, may take."""

    __module__ = "hone"


class FormatError(Error):
    """A text is no number format. The message shows it with a mark under the character at fault."""

    __module__ = "hone"

    code: str  # one of docs/FORMATS.md, section 1: "E_SYNTAX"
    position: int  # of the character at fault, from 0


class Cancelled(RuntimeError):
    """Work ended since somebody asked for that: Context.cancel(), Session.close(), the end of the interpreter.

    The same call works later.
    """

    __module__ = "hone"


class InternalError(RuntimeError):
    """hone is at fault: please report the text and the call."""

    __module__ = "hone"
