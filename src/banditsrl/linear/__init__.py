"""Linear algebra of the paper in float64: ridge statistics, the likelihood ratio, bounds."""
