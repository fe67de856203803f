"""What a user asked for becomes a plan: complete settings, prepared data and a network, and a place for the run."""
