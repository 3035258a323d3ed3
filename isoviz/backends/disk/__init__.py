"""Files (DSK), and the channels between files and host memory."""
