"""What to show of a code object, once (`listing`), and how: as text, as a page, in a notebook."""
