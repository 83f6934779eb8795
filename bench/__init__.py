"""What it costs, beside the peers: ``python -m bench [NAME...]``."""
