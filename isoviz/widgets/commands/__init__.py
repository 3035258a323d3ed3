"""Commands of the browser: declared by functions, read, carried out on the state, answered."""
