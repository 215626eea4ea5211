"""The table on disk, its snapshot for searches, and what makes both durable."""
