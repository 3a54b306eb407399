"""Hosts x steps -> events: order, strategy, conditions, loops, blocks, handlers, delegation."""
