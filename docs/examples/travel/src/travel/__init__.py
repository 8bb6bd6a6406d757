"""A travel desk: a module of Fencepost in a package of its own."""
