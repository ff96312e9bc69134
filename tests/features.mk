# tests of the features group
