"""Pictures of the switch of a Data Vortex."""
