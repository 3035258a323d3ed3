"""Parts of every figure: SVG, HTML, colours, axes, bars."""
