"""What CPython stores in a code object, as values: exception tables, location tables and the data of its opcodes.

Code units exist in here only; everything that leaves this package counts in bytes.
"""

from __future__ import annotations
