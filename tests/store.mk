# tests of the store group
