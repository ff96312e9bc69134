# tests of the model group
