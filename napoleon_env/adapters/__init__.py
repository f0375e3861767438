"""One file for each foreign library; each is imported only by who uses that library."""
