"""Trains one trial of one run: data, clients and network of a config, given to `methods`."""
