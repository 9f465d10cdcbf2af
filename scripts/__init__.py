"""What a developer runs by hand."""
