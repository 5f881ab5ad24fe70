"""Runs federated methods: the loop over rounds, local training, evaluation."""
