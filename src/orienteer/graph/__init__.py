"""Link graphs and the algorithms on them: arrays in, arrays out."""
