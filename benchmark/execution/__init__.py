"""Carries out plans: jobs, progress, devices, and executors that train."""
