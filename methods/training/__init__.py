"""Local training and what is measured of models. The first page is `plain.py`."""
