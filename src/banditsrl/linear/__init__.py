"""The linear algebra of the paper in float64: ridge statistics, likelihood ratio and bounds."""
