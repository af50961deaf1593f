"""The virtual instruction model: instructions that point at each other and carry spans, instead of offsets."""
