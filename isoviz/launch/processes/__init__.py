"""Starting and ending the processes of ranks: jobs of `mpiexec`, and clusters that run already."""
