"""What is noted of Dynamo's work on a frame."""
