"""The steps of instructions that do more than take and leave, a file for each kind."""
