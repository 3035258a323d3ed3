"""How quickly the explorer answers, in JupyterLab and a real browser."""
