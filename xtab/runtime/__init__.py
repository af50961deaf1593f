"""What acts while a program runs."""
