"""Run the heavy stages, in this process or on a Ray cluster."""
