"""Graphs in Stoker's text form, and the programs around them."""
