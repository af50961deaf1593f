"""Code objects, functions and modules made into others."""
