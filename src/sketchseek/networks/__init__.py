"""Neural networks: their weights, their graphs, and which are kept on this machine."""
