"""Where runs are executed: this process, several processes, or a Ray cluster."""
