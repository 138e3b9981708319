"""What the program does by itself, and when."""
