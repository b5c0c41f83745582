"""Results: reasons and curves as frozen values, in words and in files."""
