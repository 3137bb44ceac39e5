"""How arrays are computed fast: float64, the seed axis, compiled programs, random draws."""
