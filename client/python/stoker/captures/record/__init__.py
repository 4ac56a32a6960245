"""From a frame that Dynamo traced to a capture."""
