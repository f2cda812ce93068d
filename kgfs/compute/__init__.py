"""The engines that run the heavy stages: this process, or a Ray cluster."""
