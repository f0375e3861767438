"""Pages in a browser: a match step by step, a game against agents, and the parts that reports use too."""
