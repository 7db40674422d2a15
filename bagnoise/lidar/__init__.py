"""Lidars: beam tables, the camera that senses them, and what goes wrong with their points."""
