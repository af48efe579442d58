"""Link graphs and what is computed on them: arrays in, arrays out."""
