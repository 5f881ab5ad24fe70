"""Clusters of representations: hard, balanced and soft."""
