"""The paper's tables and figures at one command: its settings as trials, small records, and pages made of them."""
