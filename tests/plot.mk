# tests of the plot group
