# tests of the data group
