"""The one place that touches what PyTorch does not document: README.md."""
