"""Network building blocks that run one model or many stacked ones with the same code."""
