"""What a training comes to, and what is done with it afterwards."""
