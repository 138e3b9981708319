"""One frozen tree from one YAML file and the environment."""
