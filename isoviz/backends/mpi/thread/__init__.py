"""The thread of a rank that makes all MPI calls, and the messages that it and others send and take."""
