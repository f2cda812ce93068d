"""Make written bytes durable on this machine, then move them into the garage under their hash."""
