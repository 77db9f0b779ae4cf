"""The engines that a configuration can choose: known by name, built, started and closed."""
