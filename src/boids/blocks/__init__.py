"""Pure pieces that methods are built from; none of them knows a method."""
