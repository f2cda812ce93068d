"""Keeping: bytes that were written become durable, and reach the garage under their hash."""
