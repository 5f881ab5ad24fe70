"""Table specs: read, validated and expanded into cells."""
