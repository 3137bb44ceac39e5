"""What the paper proves: bounds, assumptions, and the diagnosis of a representation."""
