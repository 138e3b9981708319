"""What the model may do, one file per kind of tool."""
