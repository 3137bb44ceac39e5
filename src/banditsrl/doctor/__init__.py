"""What do a problem or logged rounds say about embeddings and policies, before anything is run?"""
