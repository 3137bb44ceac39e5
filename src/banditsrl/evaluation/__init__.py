"""What would another policy have earned on logged rounds, and how sure is that?"""
