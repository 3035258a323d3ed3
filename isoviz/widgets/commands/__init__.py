"""Commands of the browser: read, carried out on the state, answered."""
