"""Helpers of the tests: any rung may import them, and they import no test."""
