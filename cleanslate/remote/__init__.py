"""What runs on the target: the agent and its calls. Standard library and pynvml only, Python 3.8 and later.

The controller never imports these modules to make a call: it sends their source to the target, where they are
imported under the same names from memory (`connect/bundle.py`). They import nothing of ours but each other.
"""
