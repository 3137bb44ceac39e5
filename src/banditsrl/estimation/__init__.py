"""What is a target worth, from logged rounds? Estimators, reward models and intervals."""
