"""Mending: what is damaged or lost is made again, and a whole home moves to other stores."""
