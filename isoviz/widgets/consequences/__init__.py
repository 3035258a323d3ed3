"""What follows from settings: spaces, linearizations, machine, plan and pictures, or what is wrong and at which control."""
