"""Repair damaged or lost data, and migrate a whole home to other stores."""
