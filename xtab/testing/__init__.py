"""What tests of bytecode need: code that no compiler would write."""
