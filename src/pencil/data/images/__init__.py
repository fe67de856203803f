"""Images: in files, in the columns of a table, and decoded once into one file of their own."""
