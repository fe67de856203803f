"""From inputs as they are stored to what a network sees: statistics, crops, distortions, columns left out."""
