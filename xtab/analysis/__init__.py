"""What can be said about a code object, without changing it."""
