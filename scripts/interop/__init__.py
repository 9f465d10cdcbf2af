"""What `guard_interop.py` starts: a client of each SDK, and the tee that writes down what it says and hears."""
