"""A local web page on which people go through a run's doubtful labels, and what their decisions come to."""
