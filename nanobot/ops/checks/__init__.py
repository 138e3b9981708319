"""What `nanobot doctor` looks at: one file per thing."""
