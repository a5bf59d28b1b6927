"""Commands behind the figures in these documents."""
