"""Which room is this? The loop that decides and learns in an application, and loses nothing."""
