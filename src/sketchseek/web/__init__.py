"""What people see: pages, pictures in a terminal, progress."""
