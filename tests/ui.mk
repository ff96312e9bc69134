# tests of the ui group
