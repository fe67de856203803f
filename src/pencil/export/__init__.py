"""A run's final labels in the forms that other tools read, one file a form; the file's name is the form's name."""
