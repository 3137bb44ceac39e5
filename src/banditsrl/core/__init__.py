"""The nouns and their contracts: Problem, Representation, Policy, Choice and History."""
