"""Past one machine: the same index on a Ray cluster (extra `cluster`)."""
