"""Whether what this suite takes for granted about GPUs holds on this host: one command, one table, one small file."""
