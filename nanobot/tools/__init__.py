"""Tools of the model, one file per kind."""
