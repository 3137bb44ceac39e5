"""What would another policy have earned on a log, is the log good enough, and may it go live?"""
