int cnet_empty;
