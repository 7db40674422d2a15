"""What ``bagnoise`` alone says: what it is for, where to begin, where help is."""

from __future__ import annotations

FIRST_SCREEN = """\
bagnoise {version}: turns a clean rosbag into the recording a real car's sensors
would have made. The input is never changed.

Begin with:
  bagnoise info BAG                     what is in it, what can be transformed
  bagnoise augment BAG noisy.mcap       add noisy, late camera and lidar cones
  bagnoise report noisy.mcap            see what was done, as a page

Then:
  bagnoise recipe list                  other simulators' cones, a lidar swap
  bagnoise steps                        what recipes are made of
  bagnoise dataset PLAN.yaml            many bags from one plan

Help:
  bagnoise --help                       every command
  bagnoise COMMAND --help               its options
  bagnoise completion bash|zsh|fish     let the tab key complete all of it
"""
