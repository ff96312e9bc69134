# tests of the gp group
