"""Several paths for one transfer: link-disjoint paths by maximum flow, and a linear program that splits the bytes among them."""
