# tests of the core group
