"""The virtual instruction model: instructions that point at each other, and spans that they carry, instead of offsets."""
