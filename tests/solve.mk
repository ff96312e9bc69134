# tests of the solve group
