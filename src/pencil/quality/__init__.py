"""What the evidence says about each given label: scores, decisions, the noise as a whole."""
