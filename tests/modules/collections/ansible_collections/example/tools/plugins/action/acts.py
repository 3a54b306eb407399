"""An action plugin, by which alone its module works."""
