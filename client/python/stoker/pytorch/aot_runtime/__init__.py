"""What AOTAutograd's runtime does around a graph, which a capture takes the place of."""
